-- paper.lua - qn.paper: results of the DReLU paper beside what one gets.
--
-- Built into the program (src/script/lua_paper.c). To try a change without
-- building: paper = loadfile("lua/quern/paper.lua")().
local raise, hint = ...
raise = raise or function(_, text) error(text, 3) end
hint = hint or function() return "" end
local qn = require "quern"

local ACTIVATIONS = { "tanh", "relu", "drelu" }
local SHARES = { "negative", "near", "positive" }
local NEAR = 0.1

-- Table 3, in percent: cell states on the test set of Penn Treebank.
local TABLE_3 = {
  tanh  = { negative = 45.28, near = 10.02, positive = 44.70 },
  relu  = { negative =  0.00, near = 80.22, positive = 19.78 },
  drelu = { negative = 23.77, near = 53.90, positive = 22.33 },
}

-- option -> what it must be, for all complaints at once
local OPTIONS = {
  size    = { "200 or 640", function(v) return v == 200 or v == 640 end },
  runs    = { "a table of runs by activation", function(v)
    if type(v) ~= "table" then return false end
    for activation in pairs(v) do
      if not TABLE_3[activation] then return false end
    end
    return true
  end },
  train   = { "true or false", function(v) return type(v) == "boolean" end },
  changes = { "a table of settings", function(v) return type(v) == "table" end },
  split   = { "train, valid or test", function(v)
    return v == "train" or v == "valid" or v == "test"
  end },
}

local function check_options(options)
  local problems = {}
  if type(options) ~= "table" then
    raise("usage", "qn.paper.activation_table: a table of options expected, "
                   .. "got " .. type(options))
  end
  for name, value in pairs(options) do
    local option = OPTIONS[name]
    if not option then
      problems[#problems + 1] =
        ("unknown option '%s' of qn.paper.activation_table%s")
          :format(tostring(name), hint(tostring(name), OPTIONS))
    elseif not option[2](value) then
      problems[#problems + 1] = ("%s: %s expected"):format(name, option[1])
    end
  end
  if #problems > 0 then
    table.sort(problems)
    raise("usage", table.concat(problems, "\n"))
  end
end

-- What makes a run the preset's; the rest is names, chance and watching.
local MATTERS = {
  "task", "data", "model", "loss", "optim", "batch", "seq", "epochs", "steps",
}

-- Which of these a run has otherwise than the preset, as text; "" for none.
local function differing(run, preset)
  local config, keys = run.config, {}
  for _, key in ipairs(MATTERS) do
    if config[key] ~= preset[key] then keys[#keys + 1] = key end
  end
  return table.concat(keys, ", ")
end

-- An import knows of no steps to come: it is at 0 of 0.
local function is_short(run)
  return run.steps_total == 0 or run.step < run.steps_total
end

local function preset_name(activation, options)
  return ("ptb-word/%s-%d"):format(activation, options.size or 200)
end

-- A preset's runs are called as it is or, by the command line, with a number.
local function is_of_preset(run_name, name)
  local rest = run_name:sub(#name + 1)
  return run_name:sub(1, #name) == name
         and (rest == "" or rest:match("^%-%d+$") ~= nil)
end

-- Why a stored run does not stand for the preset; nil when it does. One that
-- trains in this session will: after Ctrl-C the same call goes on waiting.
local function why_not(run, row, preset)
  local keys = differing(run, preset)
  if keys ~= "" then return "has other settings (" .. keys .. ")" end
  if row.id and (row.state == "running" or row.state == "held") then return end
  if is_short(run) then
    return ("has %d of %d steps"):format(run.step, run.steps_total)
  end
  if row.state ~= "done" then return "is " .. row.state end
end

-- The newest run that did all that the preset says; nil when there is none. Of
-- those passed over the newest is named.
local function find_trained(activation, name)
  local preset = qn.preset(name)
  local rows, told = assert(qn.runs()), false
  for i = #rows, 1, -1 do
    local row = rows[i]
    local run = is_of_preset(row.name, name) and qn.run(row.run)
    if run then
      local why = why_not(run, row, preset)
      if not why then return run end
      if not told then
        print(("%s: run %s %s: not taken"):format(activation, run.run, why))
      end
      told = true
    end
  end
end

-- A run that is given must be of what it stands for.
local function check_given(activation, run)
  local config = run.config
  local function must(group, key, value)
    local got = config[group][key]
    if got ~= value then
      raise("usage", ("runs.%s: run %s has %s.%s=%s, not %s"):format(
        activation, run.run, group, key, tostring(got), value))
    end
  end
  must("model", "cell", "qrnn")
  must("data", "level", "word")
  must("model", "activation", activation)
end

-- What can be refused is refused before anything is printed or trained.
local function check_all(options)
  local given = {}
  for _, activation in ipairs(ACTIVATIONS) do
    local run = options.runs and options.runs[activation]
    if type(run) == "string" or math.type(run) == "integer" then
      local message, code
      run, message, code = qn.run(run)
      if not run then return nil, activation .. ": " .. message, code end
    end
    if run then
      check_given(activation, run)
      given[activation] = run
    else
      qn.preset(preset_name(activation, options), options.changes or {})
    end
  end
  return given
end

-- The run that is given, or one that was trained before, or a new one; nil,
-- message, code when there is none to be had.
local function find_run(activation, given, options)
  local name = preset_name(activation, options)
  if given[activation] then return given[activation] end
  local fresh = options.train or options.changes ~= nil
  local run = not fresh and find_trained(activation, name)
  if run then
    print(("%s: run %s is %s"):format(activation, run.run, run.state))
    return run
  end
  print(("%s: training %s"):format(activation, name))
  return qn.train(qn.preset(name, options.changes or {}))
end

-- Shares in percent of one activation: pooled, and a list of the layers'.
local function measure(activation, given, options)
  local run, message, code = find_run(activation, given, options)
  if not run then return nil, message, code end
  local ended
  ended, message, code = run:wait()
  if not ended then return nil, message, code end
  local stats
  stats, message, code = run:measure {
    split = options.split or "test", checkpoint = "best", of = "c",
    layers = "pooled", near = NEAR,
  }
  if not stats then return nil, message, code end
  return { run = run, stats = stats }
end

local function add_rows(rows, activation, found)
  for _, share in ipairs(SHARES) do
    local paper = TABLE_3[activation][share]
    local ours = 100 * found.stats[share]
    local layers = {}
    for i, layer in ipairs(found.stats.layers) do
      layers[i] = 100 * layer[share]
    end
    rows[#rows + 1] = {
      activation = activation, share = share, paper = paper, ours = ours,
      difference = ours - paper, layers = layers,
      run = found.run.run, step = found.stats.step,
    }
  end
end

-- How the runs are not what the presets say.
local function print_remarks(found, options)
  for _, activation in ipairs(ACTIVATIONS) do
    local run = found[activation].run
    local name = preset_name(activation, options)
    local keys = differing(run, qn.preset(name))
    if is_short(run) or keys ~= "" then
      print(("%s: run %s, step %d of %d"):format(activation, run.run, run.step,
                                                run.steps_total))
    end
    if keys ~= "" then print("  not the preset's: " .. keys) end
  end
end

local function print_pooled(rows, split)
  print(("\nTable 3: cell states c of all layers on the %s split, in percent")
    :format(split))
  print(("near zero: |c| < %g%21s%10s%12s")
    :format(NEAR, "paper", "ours", "difference"))
  for i, row in ipairs(rows) do
    print(("%-8s%-18s%11.2f%10.2f%+12.2f"):format(
      i % #SHARES == 1 and row.activation or "", row.share, row.paper,
      row.ours, row.difference))
  end
end

local function print_layers(rows)
  print(("\n%-8s%-18s%11s%10s%12s"):format("", "layer by layer", "negative",
                                          "near", "positive"))
  for i = 1, #rows, #SHARES do
    for layer = 1, #rows[i].layers do
      print(("%-8s%-18d%11.2f%10.2f%12.2f"):format(
        layer == 1 and rows[i].activation or "", layer, rows[i].layers[layer],
        rows[i + 1].layers[layer], rows[i + 2].layers[layer]))
    end
  end
end

local function print_runs(found)
  print("\nfrom the best checkpoints, with the perplexity on the valid split")
  for _, activation in ipairs(ACTIVATIONS) do
    local run, stats = found[activation].run, found[activation].stats
    local best = run.best
    print(("%-8s%-46s step %-8d%10s"):format(activation, run.run, stats.step,
      best and ("%.1f"):format(math.exp(best.value)) or "-"))
  end
end

local rows_meta = {
  __tostring = function(rows)
    return ("%d rows of activation, share, paper, ours, difference, layers")
      :format(#rows)
  end,
}

local paper = {}

-- The paper's table of activation statistics beside the same of our runs, which
-- are taken from the store or trained, one after the other.
function paper.activation_table(options)
  options = options == nil and {} or options
  check_options(options)
  local given, reason, kind = check_all(options)
  if not given then return nil, reason, kind end
  local found, rows = {}, setmetatable({}, rows_meta)
  for _, activation in ipairs(ACTIVATIONS) do
    local got, message, code = measure(activation, given, options)
    if not got then return nil, activation .. ": " .. message, code end
    found[activation] = got
    add_rows(rows, activation, got)
  end
  print_remarks(found, options)
  print_pooled(rows, options.split or "test")
  print_layers(rows)
  print_runs(found)
  return rows
end

return setmetatable({}, {
  __index = function(_, name)
    return paper[name] or raise("usage", ("qn.paper has no field '%s'"):format(
      tostring(name)))
  end,
  __newindex = function(_, name)
    raise("usage", ("qn.paper is closed: '%s' cannot be set"):format(
      tostring(name)))
  end,
  __pairs = function() return next, paper end,
  __tostring = function() return "qn.paper, see qn.help(\"paper\")" end,
})
