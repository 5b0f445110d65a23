-- The paper's table from tiny runs of the presets, trained and then found.
local printed = {}
local real_print = print
local function record(text)
  printed[#printed + 1] = text
end

local tiny = {
  data = { train = TEXT, valid = 0.2, test = 0.2, vocab_size = "none" },
  model = { hidden = 8, embed = 6, dropout = 0, embed_dropout = 0 },
  batch = 2, seq = 5, steps = 12, threads = 1, sample = { every = "none" },
}

print = record
local rows = assert(qn.paper.activation_table { changes = tiny })
print = real_print

assert(#rows == 9 and #qn.runs() == 3)
local order = { "tanh", "relu", "drelu" }
for i, row in ipairs(rows) do
  local activation = order[(i + 2) // 3]
  assert(row.activation == activation)
  local run = qn.run(row.run)
  assert(run.name == "ptb-word/" .. activation .. "-200" and run.step == 12)
  assert(run.config.model.activation == activation)
  assert(row.difference == row.ours - row.paper and #row.layers == 2)
  local s = run:measure { split = "test", checkpoint = "best" }
  assert(row.ours == 100 * s[row.share] and row.step == s.step)
  assert(row.layers[2] == 100 * s.layers[2][row.share])
end
for i = 1, 9, 3 do
  local sum = rows[i].paper + rows[i + 1].paper + rows[i + 2].paper
  assert(math.abs(sum - 100) < 1e-9, "the paper's columns are a partition")
  sum = rows[i].ours + rows[i + 1].ours + rows[i + 2].ours
  assert(math.abs(sum - 100) < 1e-9)
end
assert(rows[1].paper == 45.28 and rows[5].paper == 80.22 and rows[9].paper == 22.33)

local text = table.concat(printed, "\n")
assert(text:find("tanh: training ptb-word/tanh-200", 1, true), text)
assert(text:find("Table 3: cell states c of all layers on the test split", 1, true))
assert(text:find("drelu   negative", 1, true) and text:find("\n        2 ", 1, true))
assert(text:find("  not the preset's: data, model, batch, seq, epochs, steps", 1, true), text)
for line in text:gmatch("[^\n]+") do
  assert(#line <= 80, line)
end

-- Runs that are given are taken; short ones are not found by themselves.
print = record
local given = { tanh = rows[1].run, relu = qn.run(rows[4].run), drelu = 3 }
local again = assert(qn.paper.activation_table { runs = given })
local other = assert(qn.paper.activation_table { runs = given, split = "valid" })
local nothing, message, code = qn.paper.activation_table { runs = { tanh = given.tanh } }
print = real_print
for i, row in ipairs(rows) do
  assert(again[i].ours == row.ours and again[i].run == row.run)
end
local valid = given.relu:measure { split = "valid", checkpoint = "best" }
assert(other[6].ours == 100 * valid.positive and other[6].step == valid.step)
assert(nothing == nil and code == "not_found" and message:match("^relu: "))
assert(message:find("scripts/get-data ptb", 1, true), message)
assert(message:find("ptb.train.txt", 1, true), message)
assert(#qn.runs() == 3)

-- A stored run is found when it did all of the preset, which is small here: the
-- library's upvalue qn is what all its functions see.
local function set_qn(f, value, seen)
  seen[f] = true
  for i = 1, 60 do
    local name, v = debug.getupvalue(f, i)
    if not name then return end
    if name == "qn" then debug.setupvalue(f, i, value) end
    if type(v) == "function" and not seen[v] and debug.getinfo(v).what == "Lua" then
      set_qn(v, value, seen)
    end
  end
end
local function small(name) return qn.preset(name, tiny) end
set_qn(qn.paper.activation_table, setmetatable({ preset = small }, { __index = qn }), {})

tiny.name = "ptb-word/relu-200-1"
local long = assert(qn.train(small("ptb-word/relu-200")))
long:wait()
tiny.name = "ptb-word/relu-200-code-1"
assert(qn.train(small("ptb-word/relu-200"))):wait()
tiny.name = "ptb-word/relu-200-2"
local other_sizes = qn.train(small("ptb-word/relu-200"):with{ model = { hidden = 4 } })
other_sizes:wait()
tiny.name = "ptb-word/relu-200-3"
local short = qn.train(small("ptb-word/relu-200"))
short:wait{ until_ = function(r) return r.step >= 1 end }
short:stop()
short:wait()
given.relu = nil
printed = {}
print = record
local found = assert(qn.paper.activation_table { runs = given })
print = real_print
text = table.concat(printed, "\n")
assert(found[4].run == (short.state == "done" and short.run or long.run), text)
assert(short.state == "done" or text:find("relu: run " .. short.run, 1, true), text)
-- "has 3 of 12 steps", or "is stopped" where the stop came behind the last one.
assert(short.state == "done" or text:find(": not taken", 1, true), text)
assert(found[1].run == rows[1].run)
set_qn(qn.paper.activation_table, qn, {})

-- Mistakes name the script's line.
local function refuses(options, part)
  local ok, e = pcall(qn.paper.activation_table, options)
  assert(not ok and e.code == "usage" and e.message:find(part, 1, true), tostring(e))
  return e
end
refuses({ size = 300 }, "size: 200 or 640 expected")
refuses({ runs = { elu = 1 } }, "runs: a table of runs by activation expected")
refuses({ siz = 1 }, "unknown option 'siz' of qn.paper.activation_table (did you mean 'size'?)")
refuses({ runs = { relu = given.tanh } }, "has model.activation=tanh, not relu")
refuses(3, "a table of options expected, got number")
printed, print = {}, record
local e = refuses({ changes = { modle = 1 } }, "modle")
print = real_print
assert(#printed == 0, "refused before anything is said")
assert(e.where:match("paper.lua:%d+:$") and not e.where:match("^quern/"), e.where)
assert(not pcall(function() return qn.paper.table end))
assert(not pcall(function() qn.paper.mine = 1 end))
