-- What may be done to a run while it trains.
SMALL.steps = 1000000
SMALL.name = "long"
local run = assert(qn.train(SMALL))
assert(run:wait{ until_ = function(r) return r.step >= 3 end } == true)
assert(run.state == "running" and run.step >= 3 and run.rate > 0)

local ok, message, code = run:wait{ timeout = 0 }
assert(ok == nil and message == "the time is up" and code == "timeout")

assert(run:pause() and run:pause())
assert(run.state == "paused" and run.error == nil)
ok, message, code = run:wait()
assert(ok == nil and message == "run 'long' paused" and code == "state")
local step = run.step
assert(run:evaluate("valid").step == step, "a paused run still answers")
assert(run:resume() and run:resume() and run.state == "running")

assert(run:set{ lr = 0.5, ["stats.every"] = "7 steps", dropout = 0 })
run:wait{ until_ = function(r) return r.lr == 0.5 end }
run:wait{ until_ = function(r) return r.config.stats.every == "7 steps" end }
assert(run.config.model.dropout == 0)

local good, problem = pcall(run.set, run, { lr = -1, hidden = 3, seq = 9,
                                            ["eval.evry"] = 1 })
assert(not good and #problem.items == 4, tostring(problem))
good, problem = pcall(run.set, run, { lr = 0.25, seq = 9 })
assert(not good and problem.message == "seq is fixed once a run exists")
assert(run.lr == 0.5, "all settings or none")
good, problem = pcall(run.set, run, { lr = 0.25, ["optim.lr"] = 0.125 })
assert(not good and problem.message == "optim.lr is given twice")
good, problem = pcall(run.resume, run, { steps = 5 })
assert(not good and problem.message:match("use run:set"))

for _, bad in ipairs{ { until_ = 3 }, { timeout = "1" }, { timeout = -1 },
                      { untill_ = print }, { 3 } } do
  assert(not pcall(run.wait, run, bad))
end
assert(not pcall(run.wait, run, { until_ = function() error("mine") end }))
assert(not pcall(run.stop, run, { save = 1 }))
assert(not pcall(run.evaluate, run, "tset"))
good, problem = pcall(run.sample, run, { prompt = 1, length = 0, seed = -1 })
assert(not good and #problem.items == 3, tostring(problem))
good, problem = pcall(run.metric, run, "train.los")
assert(problem.message:match("did you mean 'train.loss'"))
good, problem = pcall(function() return run.stepp end)
assert(problem.message:match("a run has no field 'stepp' %(did you mean"))
assert(not pcall(function() run.step = 3 end))

assert(run:stop() and run:stop())
assert(run:wait() and run.state == "stopped")
step = run.step
assert(run:resume{ steps = step + 5 })
assert(run:wait() and run.state == "done" and run.step == step + 5)
ok, message, code = run:resume()
assert(ok == nil and code == "state", message)

do
  local short <close> = assert(qn.train(SMALL))
  short:wait{ until_ = function(r) return r.step >= 1 end }
  run = short
end
assert(run:wait() and run.state == "stopped", "closed with its block")
