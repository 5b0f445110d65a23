-- A classifier from labelled documents to its word on a text.
local here = arg[0]:match("^(.*)/")
local small = dofile(here .. "/documents.lua")

-- Data: as a spec of its own, which says that documents are to be classified.
local data = assert(qn.labelled(small.data))
assert(data.documents.train == 32 and data.documents.valid == 8)
assert(data.documents.test == 20)
assert(data.symbols == 7, "words without vector are dropped")
assert(data.sizes.train > 4 * 15 and data.sizes.train < 32 * 7)
assert(#data.hash == 64 and data.fold == "1 of 5" and data.max_words == 3000)
assert(tostring(data):match('^qn%.labelled{ train = "documents.tsv"'), tostring(data))
local second = assert(data:with{ fold = "2 of 5" })
assert(second ~= data and second.fold == "2 of 5")
assert(second.documents.valid == 8 and second.symbols == 7)
local learnt = assert(qn.labelled{ train = "documents.tsv", test = 0 })
assert(learnt.documents.test == 0 and learnt.symbols == 9)
local text = assert(qn.corpus{ train = TEXT })
assert(not pcall(function() return text.documents end), "a text has none")
local ok, e = pcall(qn.labelled, { train = "documents.tsv", level = "char" })
assert(not ok and e.message:find("data.level", 1, true), tostring(e))
ok, e = pcall(qn.corpus, { train = TEXT, fold = "1 of 5" })
assert(not ok and e.message:find("data.fold", 1, true), tostring(e))
local nothing, message, code = qn.labelled{ train = "nowhere.tsv" }
assert(nothing == nil and code == "not_found" and message:find("nowhere.tsv", 1, true))

-- Vectors as fastText writes them: a line of sizes, a space at each line's end.
local folder = TEXT:match("^(.*)/")
local file = assert(io.open(folder .. "/fast.txt", "w"))
file:write("7 6\n")
for line in io.lines(folder .. "/vectors.txt") do file:write(line, " \n") end
file:close()
local fast = assert(data:with{ vectors = "fast.txt" })
assert(fast.symbols == 7 and fast ~= data)

-- The run knows by its data what it is to do.
local run = assert(qn.train{
  data = data, model = small.model, optim = small.optim, batch = 4, threads = 2,
  steps = 60, eval = { every = "20 steps" }, name = "judge",
})
assert(run.config.task == "classify" and run.accuracy == nil)
assert(run:wait())
assert(run.config.data == data:with{} and run.config.data ~= second)
assert(run.accuracy >= 0 and run.accuracy <= 1 and run.seconds > 0)
assert(#run:metric("train.accuracy") == 60)
assert(#run:metric("valid.accuracy") == 3)
assert(#run:metric("test.accuracy") == 0)
assert(run:metric("train.accuracy").last == run.accuracy)
local best = run.best
assert(best.metric == "valid.loss" and best.value == best.loss)
assert(run:metric("valid.accuracy"):at(best.step) == best.accuracy)
assert(tostring(run):find(", accuracy %d+%.%d%d %%, best [%d.e-]+ %(accuracy"), tostring(run))

local found = assert(run:evaluate("test"))
assert(found.accuracy >= 0 and found.accuracy <= 1 and found.predictions == 20)
assert(found.loss > 0 and found.bpc == nil and found.perplexity == nil)
assert(run:evaluate("valid", { checkpoint = "best" }).accuracy == best.accuracy)

-- Words of one's own.
local says = assert(run:classify("The film, zork and bright"))
assert(says.words == 6, says.words)
assert(says.known == 3, says.known)
assert((says.label == "positive") == (says.probability > 0.5))
assert(run:classify("bright").probability > run:classify("dull").probability)
local long = assert(run:classify(("bright "):rep(20000)))
assert(long.words == 20000 and long.known == 3000)
for _, text in ipairs { "", " \n", "zork", "\xff" } do
  nothing, message, code = run:classify(text)
  assert(nothing == nil and code == "usage" and #message > 0)
end
assert(not pcall(run.classify, run) and not pcall(run.classify, run, 3))

-- Each kind says what it is not for.
nothing, message, code = run:sample{ length = 3 }
assert(nothing == nil and code == "usage" and message:find("classifier"), message)
local writer = qn.train(SMALL)
assert(writer.best == nil)
nothing, message, code = writer:classify("bright")
assert(nothing == nil and code == "usage" and message:find("language model"), message)
writer:wait()
assert(writer.accuracy == nil and writer.best.accuracy == nil)
assert(writer.best.loss == writer.best.value)
assert(#writer:metric("valid.accuracy") == 0)
found = writer:evaluate()
assert(found.accuracy == nil and found.bpc > 0 and found.perplexity > 1)

-- The best by accuracy, and documents in a preset's stead of a text.
local other = assert(qn.train{
  preset = "demo", data = data, model = small.model, optim = small.optim,
  batch = 4, steps = 20, eval = { every = "5 steps" },
  checkpoint = { metric = "valid.accuracy" },
})
other:wait()
assert(other.config.task == "classify")
assert(other.best.metric == "valid.accuracy" and other.best.value == other.best.accuracy)
assert(other.best.value == other:metric("valid.accuracy").max)

-- A text in a preset's stead of documents, and the whole of a run once more.
local changed = qn.preset("sentiment/tanh-300", { data = text })
assert(changed.task == "lm" and changed.data.train == TEXT)
assert(changed.checkpoint.metric == "valid.loss" and changed.data.vectors == nil)
ok, e = pcall(qn.train, { data = data, seq = 5 })
assert(not ok and e.message:find("seq", 1, true), tostring(e))
local twin = assert(qn.train(other.config))
twin:wait()
assert(twin.loss == other.loss and twin.best.accuracy == other.best.accuracy)

-- The table of runs has a column more when one of them classifies.
local rows = qn.runs()
assert(rows[1].name == "judge" and rows[1].best_accuracy == best.accuracy)
assert(rows[2].best_accuracy == nil)
assert(tostring(rows):match("^name +state +step +best +at +accuracy\n"), tostring(rows))

-- Parameters do not hang on the words.
assert(run.config:params().all == run.config:params(100).all)
assert(qn.preset("sentiment/drelu-256"):params().all == 2192641)
local model = qn.qrnn(small.model)
assert(model:params(data).all == run.config:params().all)
assert(model:params(learnt).tensors[1].name == "embedding.weight")
assert(model:params(learnt).trainable == model:params(data).trainable + 9 * 6)
assert(model:params(text).all > model:params(text.symbols - 1).all)
