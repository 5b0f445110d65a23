-- Runs that begin from checkpoints of other runs.
SMALL.name = "base"
SMALL.checkpoint = { every = "4 steps", keep = { last = 9 } }
local base = assert(qn.train(SMALL))
assert(base.parent == nil)
assert(base:wait() and base.step == 20)

local function code(...) return select(3, ...) end
local function message(...) return select(2, ...) end

-- Without changes it ends as its parent did.
local fork = assert(base:fork{ from = 8 })
assert(fork.id == 2 and fork.state == "held" and fork.step == 8)
assert(fork.name == "base/fork-1" and fork.last_lr == nil)
assert(fork.parent.run == base.run and fork.parent.name == "base")
assert(fork.parent.step == 8 and fork.parent.relation == "fork")
assert(fork:wait() and fork.state == "done" and fork.step == 20)
assert(fork.loss == base.loss)
local loss = fork:metric("train.loss")
assert(#loss == 12 and loss[1].step == 9)

-- A number that is a whole one is a step, as for run:measure.
assert(base:fork{ from = 16 / 2 }.step == 8)

-- The last checkpoint, if nothing is said; a done run needs more to do.
assert(code(base:fork()) == "state")
assert(message(base:fork()):find("a larger steps or epochs", 1, true))
local on = assert(base:fork{ steps = 24, name = "on" })
assert(on.step == 20 and on.name == "on" and on:wait() and on.step == 24)

-- Settings as qn.train takes them.
local slow = assert(base:fork{ from = "best", steps = 30,
                               optim = { lr = base.lr / 4 },
                               ["optim.kind"] = "sgd" })
assert(slow.lr == 0.0025 and slow.config.optim.kind == "sgd")
assert(slow.parent.step == base.best.step)
assert(slow:wait())

-- A fork of a fork, and of a run that trains.
assert(on:fork{ steps = 26 }.parent.name == "on")
local long = assert(base:fork{ from = "last_good", steps = 1000000 })
assert(long:wait{ until_ = function(r) return r.step >= 30 end })
local branch = assert(long:fork{ steps = 1000001, name = "branch" })
assert(branch.step >= 20 and branch.parent.run == long.run)
assert(branch:stop() and branch:wait())
assert(long:stop() and long:wait())

-- Mistakes raise, facts of the world do not.
local function raises(options, text)
  local ok, err = pcall(base.fork, base, options)
  assert(not ok and tostring(err):find(text, 1, true), tostring(err))
end
raises({ from = "worst" }, "from: must be best, last, last_good or a step")
raises({ from = 1.5 }, "from: must be")
raises({ from = -4 }, "from: must be")
raises({ from = "8" }, "from: must be")
raises({ from = 8, preset = "demo" }, "preset: a fork has the settings")
raises({ from = 8, batch = 2 }, "batch is 4 and stays")
raises({ from = 8, optim = { lr = -1 }, seq = 4 }, "seq is 8 and stays")
raises({ from = 8, optim = { lr = -1 }, seq = 4 }, "optim.lr")
raises({ from = 8, hiden = 3 }, "unknown setting 'hiden'")
assert(code(base:fork{ from = 7 }) == "not_found")
assert(code(base:fork{ from = 8, model = { hidden = 3 } }) == "format")

-- Another session finds where it comes from.
assert(qn.run("branch").parent.step == branch.parent.step)
