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

-- All complaints about the options of qn.paper.WHAT at once; known as OPTIONS.
local function check_options(what, options, known)
  local problems = {}
  if type(options) ~= "table" then
    raise("usage", ("qn.paper.%s: a table of options expected, got %s")
      :format(what, type(options)))
  end
  for name, value in pairs(options) do
    local option = known[name]
    if not option then
      problems[#problems + 1] = ("unknown option '%s' of qn.paper.%s%s")
        :format(tostring(name), what, hint(tostring(name), known))
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

-- And what says which of its checkpoints is the best.
local CHOOSES = {
  { "eval", "every" }, { "eval", "limit" }, { "checkpoint", "metric" },
}

-- Which of these a run has otherwise than the preset, as text; "" for none.
local function differing(run, preset)
  local config, keys = run.config, {}
  for _, key in ipairs(MATTERS) do
    if config[key] ~= preset[key] then keys[#keys + 1] = key end
  end
  for _, key in ipairs(CHOOSES) do
    local group, name = key[1], key[2]
    if config[group][name] ~= preset[group][name] then
      keys[#keys + 1] = group .. "." .. name
    end
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

-- Whether a file that a run keeps is gone.
local function lacks(run, name)
  local file = io.open(run.dir .. "/" .. name)
  if file then file:close() end
  return file == nil
end

-- Without the note of which is the best the last checkpoint would do for it.
local function has_lost_best(run)
  return run.best ~= nil and (lacks(run, "best") or lacks(run,
    ("checkpoints/%d/model.safetensors"):format(run.best.step)))
end

-- Why a stored run does not stand for the preset; nil when it does. One that
-- trains in this session will: after Ctrl-C the same call goes on waiting.
local function why_not(run, row, preset)
  local keys = differing(run, preset)
  if keys ~= "" then return "has other settings (" .. keys .. ")" end
  if row.id and (row.state == "running" or row.state == "held") then return end
  local timed = preset.stop.after and run.config.stop.after == preset.stop.after
                and row.state == "done"
  if is_short(run) and not timed then
    return ("has %d of %d steps"):format(run.step, run.steps_total)
  end
  if row.state ~= "done" then return "is " .. row.state end
  if has_lost_best(run) then return "has lost its best checkpoint" end
end

-- The newest run that did all that the spec says; nil when there is none. Of
-- those passed over the newest is named, after the label. concerns(run) says
-- which runs of the name are looked at; nil: all.
local function find_trained(label, name, spec, concerns)
  local rows, told = assert(qn.runs()), false
  for i = #rows, 1, -1 do
    local row = rows[i]
    local run = is_of_preset(row.name, name) and qn.run(row.run)
    if run and (not concerns or concerns(run)) then
      local why = why_not(run, row, spec)
      if not why then return run end
      if not told then
        print(("%s: run %s %s: not taken"):format(label, run.run, why))
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
  local run = not fresh and find_trained(activation, name, qn.preset(name))
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
  check_options("activation_table", options, OPTIONS)
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

-- --- table 1 ---------------------------------------------------------------

local FOLDS = 5

-- Table 1, in percent: accuracy on IMDb's test split, mean and deviation, in the
-- paper's order.
local TABLE_1 = {
  { name = "lstm-256",      mean = 90.9, sd = 0.2 },
  { name = "tanh-300",      mean = 90.5, sd = 0.2 },
  { name = "drelu-256",     mean = 91.0, sd = 0.2 },
  { name = "delu-256",      mean = 91.0, sd = 0.1 },
  { name = "dc-lstm-256",   mean = 91.2, sd = 0.2 },
  { name = "dc-tanh-242",   mean = 91.1, sd = 0.1 },
  { name = "dc-drelu-200",  mean = 91.2, sd = 0.2 },
  { name = "dc-delu-200",   mean = 91.1, sd = 0.2 },
}

local SENTIMENT_OPTIONS = {
  folds   = { "a whole number, 1.." .. FOLDS, function(v)
    return math.type(v) == "integer" and v >= 1 and v <= FOLDS
  end },
  names   = { "a list of presets such as \"drelu-256\"", function(v)
    if type(v) ~= "table" or #v == 0 then return false end
    for _, name in pairs(v) do
      if type(name) ~= "string" then return false end
    end
    return true
  end },
  train   = OPTIONS.train,
  changes = OPTIONS.changes,
}

-- The paper's line for a preset; the authors' code has the same.
local function target_of(name)
  local plain = name:gsub("%-code$", "")
  for _, target in ipairs(TABLE_1) do
    if target.name == plain then return target end
  end
  local known = {}
  for _, target in ipairs(TABLE_1) do known[target.name] = true end
  raise("usage", ("names: the paper's Table 1 has no '%s'%s")
    :format(name, hint(plain, known)))
end

-- What is to train: a list of { name, target, specs }, a spec for each fold.
-- What can be refused is refused here, before anything is printed or trained.
local function sentiment_lines(options)
  local names, lines, changes = options.names, {}, options.changes or {}
  if not names then
    names = {}
    for i, target in ipairs(TABLE_1) do names[i] = target.name end
  end
  for i, given in ipairs(names) do
    local name = given:gsub("^sentiment/", "")
    local line = { name = name, target = target_of(name), specs = {} }
    local preset = qn.preset("sentiment/" .. name)
    local changed = qn.preset("sentiment/" .. name, changes)
    if changed.data.fold ~= preset.data.fold then
      raise("usage", "changes: data.fold is what the table goes through")
    end
    if changed.task ~= "classify" or changed.data.test == 0 then
      raise("usage", "changes: the table is of the test split of documents")
    end
    for k = 1, options.folds or FOLDS do
      line.specs[k] = changed:with {
        data = { fold = ("%d of %d"):format(k, FOLDS) },
      }
    end
    lines[i] = line
  end
  return lines
end

-- A run of this spec: one that is whole or trains in this session, or a new one.
local function fold_run(label, spec, options)
  local name = spec.name:gsub("%-%*$", "")
  local run = not options.train and find_trained(label, name, spec, function(r)
    return r.config.data.fold == spec.data.fold
  end)
  if run then
    print(("%s: run %s is %s"):format(label, run.run, run.state))
    return run
  end
  print(("%s: training %s"):format(label, name))
  return qn.train(spec)
end

-- Accuracies in percent of one fold, from the best checkpoint; or nil, message,
-- code.
local function measure_fold(line, k, options)
  local label = ("%s, fold %d"):format(line.name, k)
  local run, message, code = fold_run(label, line.specs[k], options)
  if not run then return nil, label .. ": " .. message, code end
  local ok
  ok, message, code = run:wait()
  if not ok then return nil, label .. ": " .. message, code end
  ok, message, code = run:evaluate("test", { checkpoint = "best" })
  if not ok then return nil, label .. ": " .. message, code end
  local valid = run.best and run.best.accuracy
  return {
    run = run.run, step = ok.step, accuracy = 100 * ok.accuracy,
    valid = valid and 100 * valid,
    minutes_per_epoch = run.seconds / 60 / run.epoch,
  }
end

-- Mean and sample deviation of a field of all folds; of one fold no deviation.
local function mean_and_sd(folds, field)
  local sum, squares, n = 0, 0, #folds
  for _, fold in ipairs(folds) do sum = sum + fold[field] end
  local mean = sum / n
  for _, fold in ipairs(folds) do squares = squares + (fold[field] - mean) ^ 2 end
  return mean, n > 1 and math.sqrt(squares / (n - 1)) or nil
end

local function sentiment_row(line, folds)
  local mean, sd = mean_and_sd(folds, "accuracy")
  return {
    name = line.name, paper = line.target.mean, paper_sd = line.target.sd,
    ours = mean, sd = sd, difference = mean - line.target.mean,
    parameters = line.specs[1]:params(1).all,
    minutes_per_epoch = (mean_and_sd(folds, "minutes_per_epoch")),
    folds = folds,
  }
end

-- "data.vectors, epochs": the keys that a table of changes names.
local function changed_keys(changes, prefix, keys)
  for key, value in pairs(changes) do
    if key == "preset" then
      keys[#keys + 1] = key
    elseif type(value) == "table" and #value == 0 then
      changed_keys(value, prefix .. key .. ".", keys)
    else
      keys[#keys + 1] = prefix .. key
    end
  end
  return keys
end

-- Lines of at most 80 columns, those after the first two further in.
local function wrap(text)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and #line + 1 + #word > 80 then
      lines[#lines + 1], line = line, " "
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function print_accuracies(rows, options)
  local folds = options.folds or FOLDS
  local keys = changed_keys(options.changes or {}, "", {})
  table.sort(keys)
  print("\n" .. wrap(("Table 1: accuracy on the test split in percent, %s%s")
    :format(folds == FOLDS and ("%d folds"):format(FOLDS)
              or ("%d of %d folds"):format(folds, FOLDS),
            #keys > 0 and ", not the preset's: " .. table.concat(keys, ", ")
              or "")))
  print(("%-18s%12s%16s%12s%12s%10s"):format("", "paper", "ours", "difference",
                                           "parameters", "min/epoch"))
  for _, row in ipairs(rows) do
    print(("%-18s%12s%16s%+12.2f%12d%10.2f"):format(row.name,
      ("%.1f +-%.1f"):format(row.paper, row.paper_sd),
      row.sd and ("%.2f +-%.2f"):format(row.ours, row.sd)
        or ("%.2f"):format(row.ours),
      row.difference, row.parameters, row.minutes_per_epoch))
  end
end

local function print_folds(rows)
  print("\nfrom the best checkpoints, with the accuracy on the valid split")
  for _, row in ipairs(rows) do
    for k, fold in ipairs(row.folds) do
      print(("%d  %-52s step %-8d%10s"):format(k, fold.run, fold.step,
        fold.valid and ("%.2f"):format(fold.valid) or "-"))
    end
  end
end

local sentiment_meta = {
  __tostring = function(rows)
    return ("%d rows of name, paper, paper_sd, ours, sd, difference, "
            .. "parameters, minutes_per_epoch, folds"):format(#rows)
  end,
}

-- The paper's table of accuracies on movie reviews beside the same of our runs,
-- which are taken from the store or trained, one after the other.
function paper.sentiment_table(options)
  options = options == nil and {} or options
  check_options("sentiment_table", options, SENTIMENT_OPTIONS)
  local rows = setmetatable({}, sentiment_meta)
  for i, line in ipairs(sentiment_lines(options)) do
    local folds = {}
    for k = 1, #line.specs do
      local fold, message, code = measure_fold(line, k, options)
      if not fold then return nil, message, code end
      folds[k] = fold
    end
    rows[i] = sentiment_row(line, folds)
  end
  print_accuracies(rows, options)
  print_folds(rows)
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
