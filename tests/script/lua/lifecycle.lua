-- A run from its table to its last number.
assert(arg[1] == "one" and ... == "one")

local run = assert(qn.train(SMALL))
assert(run.state == "held" and run.step == 0 and run.loss == nil)
assert(run.id == 1 and run.steps_total == 20 and run.steps_per_epoch == 40)
assert(run.best == nil and run.error == nil and run.seed == 1)
assert(run.last_lr == nil)
assert(run.threads == 2 and run.lr == 0.01)
assert(run:stats() == nil)
assert(select(3, run:stats()) == "state")

assert(run:wait() == true)
assert(run.state == "done" and run.step == 20 and run.epoch == 0.5)
assert(run.best.step > 0 and run.best.value > 0)
assert(run.best.metric == "valid.loss")
assert(run:wait{ timeout = 0 } == true, "an ended run is not waited for")

local loss = run:metric("train.loss")
assert(#loss == 20 and loss[1].step == 1 and loss[20].step == 20)
assert(loss[0] == nil and loss[21] == nil)
assert(loss.last == loss[20].value and loss.last == run.loss)
assert(loss.min <= loss.last and loss.last <= loss.max)
assert(loss:at(3) == loss[3].value and loss:at(21) == nil)
local n, least = 0, math.huge
for step, value in loss:each() do
  n = n + 1
  assert(step == n)
  least = math.min(least, value)
end
assert(n == 20 and least == loss.min)
assert(#run:metric("valid.loss") == 2 and loss == run:metric("train.loss"))
assert(tostring(loss):match("^train.loss of run 1: 20 points, last "))

local stats = run:stats()
assert(stats.step == 20 and stats.threshold == 0.1 and #stats.layers == 2)
for _, layer in ipairs(stats.layers) do
  local sum = layer.negative + layer.near + layer.positive + layer.nan
  assert(math.abs(sum - 1) < 1e-12, "the shares make one")
  assert(layer.n_negative + layer.n_near + layer.n_positive + layer.n_nan
         == layer.count)
  assert(layer.count == 4 * 8 * 12, "batch, seq, hidden")
end
assert(stats.pooled.count == 2 * stats.layers[1].count)
assert(rawequal(stats.layers, stats.c) and stats.of == "c")
assert(stats.c.pooled == stats.pooled and stats.c[2].of == "c")
assert(stats.f == nil, "it was not counted")
assert(run.lr == 0.01 and run.last_lr == 0.01)
assert(tostring(stats):match("^cell states c at step 20, near zero below 0.1\n"))

local e = assert(run:evaluate("test"))
assert(e.split == "test" and e.predictions == 71)
assert(math.abs(e.bpc - e.loss / math.log(2)) < 1e-12)
assert(math.abs(e.perplexity - math.exp(e.loss)) < 1e-9)
assert(run:evaluate().split == "valid")
assert(run:evaluate("valid", { checkpoint = "best" }).loss == run.best.value)
assert(run:evaluate("valid", { checkpoint = 20 }).step == 20)
assert(select(3, run:evaluate("valid", { checkpoint = 3 })) == "not_found")
assert(not pcall(run.evaluate, run, "valid", { checkpoint = "good" }))

local text = assert(run:sample{ prompt = "the ", length = 10, seed = 3 })
assert(#text == 14 and text:sub(1, 4) == "the ")
assert(text == run:sample{ prompt = "the ", length = 10, seed = 3 })
assert(#run:sample{ length = 5, temperature = 0 } >= 5)

assert(tostring(run):match("^run 1 '.*': done, step 20 of 20, loss "))
local _, _, code = run:set{ lr = 0.5 }
assert(code == "state", "an ended run takes no more settings")
assert(run:stop() == true, "but stopping it again is harmless")

local said = tostring(run.config)
assert(said:match('%["model.hidden"%] = 12'), said)
assert(not said:match("activation"), "what is as ever is left out")
