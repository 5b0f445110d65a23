-- The paper's table 1 from tiny runs of the presets, trained and then found.
local here = arg[0]:match("^(.*)/")
local small = dofile(here .. "/documents.lua")
local folder = TEXT:match("^(.*)/")
local real_print, printed = print, {}

local function with_record(f, ...)
  printed = {}
  print = function(text) printed[#printed + 1] = text end
  local results = table.pack(pcall(f, ...))
  print = real_print
  assert(results[1], tostring(results[2]))
  return table.concat(printed, "\n"), table.unpack(results, 2)
end

local table_1 = qn.paper.sentiment_table
local changes = {
  data = small.data, model = { layers = 1, hidden = 4, embed = 6 },
  batch = 8, epochs = 2, threads = 1,
}
local names = { "drelu-256", "sentiment/dc-lstm-256" }

local text, rows = with_record(table_1, {
  folds = 2, names = names, changes = changes,
})
assert(#rows == 2 and #qn.runs() == 4, text)
assert(rows[1].name == "drelu-256" and rows[2].name == "dc-lstm-256")
assert(rows[1].paper == 91.0 and rows[1].paper_sd == 0.2)
assert(rows[2].paper == 91.2 and rows[2].paper_sd == 0.2)
for _, row in ipairs(rows) do
  local sum, squares = 0, 0
  assert(#row.folds == 2 and row.minutes_per_epoch > 0)
  for k, fold in ipairs(row.folds) do
    local run = qn.run(fold.run)
    assert(run.name == "sentiment/" .. row.name and run.state == "done")
    assert(run.config.data.fold == k .. " of 5" and run.config.epochs == 2)
    local best = run:evaluate("test", { checkpoint = "best" })
    assert(fold.accuracy == 100 * best.accuracy and fold.step == best.step)
    assert(fold.valid == 100 * run.best.accuracy)
    assert(run.best.metric == "valid.accuracy")
    assert(row.parameters == run.config:params().all)
    sum = sum + fold.accuracy
  end
  for _, fold in ipairs(row.folds) do
    squares = squares + (fold.accuracy - sum / 2) ^ 2
  end
  assert(math.abs(row.ours - sum / 2) < 1e-9)
  assert(math.abs(row.sd - math.sqrt(squares)) < 1e-9, "a sample's: n - 1")
  assert(row.difference == row.ours - row.paper)
end
assert(text:find("drelu-256, fold 2: training sentiment/drelu-256", 1, true), text)
assert(text:find("Table 1: accuracy on the test split in percent, 2 of 5 folds, "
                 .. "not the preset's:\n  batch, data.test, data.train, "
                 .. "data.vectors, epochs, model.embed,", 1, true), text)
for line in text:gmatch("[^\n]+") do
  assert(#line <= 80, line)
end
assert(text:find("\ndrelu%-256 +91%.0 %+%-0%.2 +%d+%.%d%d %+%-%d+%.%d%d "), text)

-- What is whole is taken, of each fold its own; with one fold no deviation.
local again, same = with_record(table_1, {
  folds = 2, names = names, changes = changes,
})
assert(#qn.runs() == 4 and not again:find("training"), again)
for i, row in ipairs(rows) do
  for k, fold in ipairs(row.folds) do assert(same[i].folds[k].run == fold.run) end
end
local once, one = with_record(table_1, {
  folds = 1, names = { "drelu-256" }, changes = changes,
})
assert(#one == 1 and one[1].sd == nil and one[1].ours == rows[1].folds[1].accuracy)
assert(once:find("1 of 5 folds", 1, true), once)
assert(once:find("\ndrelu%-256 +91%.0 %+%-0%.2 +%d+%.%d%d +[+-]%d"), once)

-- By another name a file is the same one.
changes.data = { train = folder .. "/documents.tsv", test = small.data.test,
                 vectors = folder .. "/./vectors.txt" }
again = with_record(table_1, { folds = 1, names = { "drelu-256" }, changes = changes })
assert(#qn.runs() == 4 and not again:find("training"), again)
changes.data = small.data

-- Other settings, runs that are not whole, and train = true: new ones.
changes.epochs = 3
text = with_record(table_1, { folds = 1, names = { "drelu-256" }, changes = changes })
assert(#qn.runs() == 5 and text:find(
  "has other settings (epochs): not taken", 1, true), text)
text = with_record(table_1, {
  folds = 1, names = { "drelu-256" }, changes = changes, train = true,
})
assert(#qn.runs() == 6 and not text:find("not taken", 1, true), text)

-- A run that ended by its time is whole when that is what was asked for.
changes.stop = { after = "0.000001 s" }
text, one = with_record(table_1, { folds = 1, names = { "delu-256" }, changes = changes })
assert(qn.run(one[1].folds[1].run).step == 1 and #qn.runs() == 7, text)
text, same = with_record(table_1, { folds = 1, names = { "delu-256" }, changes = changes })
assert(#qn.runs() == 7 and same[1].ours == one[1].ours, text)
changes.stop = nil

-- The best by another measure is another checkpoint.
local asked = { folds = 1, names = { "delu-256" }, changes = changes }
changes.checkpoint = { metric = "valid.loss" }
with_record(table_1, asked)
assert(#qn.runs() == 8)
changes.checkpoint = nil
text, one = with_record(table_1, asked)
assert(#qn.runs() == 9 and text:find(
  "has other settings (checkpoint.metric): not taken", 1, true), text)

-- And a run without its best checkpoint stands for nothing.
local fold = one[1].folds[1]
local best = ("%s/checkpoints/%d"):format(qn.run(fold.run).dir, fold.step)
assert(os.remove(best .. "/model.safetensors"))
text, same = with_record(table_1, asked)
assert(#qn.runs() == 10 and same[1].folds[1].run ~= fold.run, text)
assert(text:find("has lost its best checkpoint: not taken", 1, true), text)
assert(os.remove(qn.run(same[1].folds[1].run).dir .. "/best"))
text, one = with_record(table_1, asked)
assert(#qn.runs() == 11 and one[1].folds[1].run ~= same[1].folds[1].run, text)

-- The authors' code has the paper's line, too.
local _, code = with_record(table_1, {
  folds = 1, names = { "dc-tanh-242-code" }, changes = changes,
})
assert(code[1].paper == 91.1 and code[1].paper_sd == 0.1)
assert(tostring(code):match("^1 rows of name, paper"))

-- Reviews that are not there.
local nothing, message, kind
text, nothing, message, kind = with_record(table_1, { folds = 1 })
assert(nothing == nil and kind == "not_found", message)
assert(message:match("^lstm%-256, fold 1: "), message)
assert(message:find("imdb", 1, true), message)

-- Mistakes, before anything is said.
local function refuses(options, part)
  printed = {}
  print = function(line) printed[#printed + 1] = line end
  local ok, e = pcall(table_1, options)
  print = real_print
  assert(not ok and e.code == "usage" and e.message:find(part, 1, true), tostring(e))
  assert(#printed == 0)
end
refuses({ folds = 6 }, "folds: a whole number, 1..5 expected")
refuses({ folds = 2.5 }, "folds: a whole number")
refuses({ names = {} }, "names: a list of presets")
refuses({ names = { "drelu-255" } },
        "the paper's Table 1 has no 'drelu-255' (did you mean 'drelu-256'?)")
refuses({ fold = 1 }, "unknown option 'fold' of qn.paper.sentiment_table "
                      .. "(did you mean 'folds'?)")
refuses({ changes = { modle = 1 } }, "modle")
refuses({ changes = { data = { fold = "2 of 5" } } }, "changes: data.fold")
refuses({ changes = { data = { test = 0 } } }, "the test split")
refuses(7, "qn.paper.sentiment_table: a table of options expected, got number")
