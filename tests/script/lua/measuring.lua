-- The shares of a whole split, of a run that waits and of one that has ended.
local function is_near(a, b)
  return math.abs(a - b) < 1e-12
end

local run = assert(qn.train(SMALL))
run:wait{ until_ = function(r) return r.step >= 5 end }
run:pause()
local live = assert(run:measure{ split = "test" })
assert(live.split == "test" and live.step == run.step)
assert(live.threshold == 0.1 and live.of == "c")
assert(live.count == 2 * 71 * 12, "layers, predictions, hidden")
assert(is_near(live.negative + live.near + live.positive + live.nan, 1))
assert(live.near == live.pooled.near and live.n_near == live.pooled.n_near)
assert(#live.layers == 2 and rawequal(live.layers, live.c))
run:resume()
run:wait()

-- Weights of the folder, another threshold, one layer.
local best = assert(run:measure{ split = "test", checkpoint = "best" })
assert(best.step == run.best.step)
local last = assert(run:measure{ checkpoint = run.step, near = 0.25, layers = 2 })
assert(last.step == 20 and last.split == "valid" and last.threshold == 0.25)
assert(last.near == last.layers[2].near and last.count == 71 * 12)
local all = assert(run:measure{ layers = "all", of = { "c" } })
assert(all.near == nil and all.layers[1].near ~= nil)

-- The same counts by other thresholds.
local at = best:at(0.25)
local fresh = assert(run:measure{ split = "test", checkpoint = "best", near = 0.25 })
assert(at.threshold == 0.25 and at.count == best.count)
assert(math.abs(at.near - fresh.near) < 0.05, "interpolated inside a bin")
assert(at.near >= best.near and at.n_near == nil and at.n_zero == best.n_zero)
local same = best:at(0.1)
assert(same.near == best.near and same.n_near == best.n_near)
assert(best:at(1):at(0.1).near == best.near, "nothing is lost on the way")
local edge = run:stats():at(1)
assert(is_near(edge.layers[1].near + edge.layers[1].negative
               + edge.layers[1].positive, 1))
assert(tostring(fresh):match("^cell states c at step %d+ on test, near zero "
                             .. "below 0.25\n layer  negative"))

-- What makes no sense is said, all of it at once.
local ok, e = pcall(run.measure, run, {
  split = "tset", checkpoint = "good", of = "q", layers = 3, near = -1,
})
assert(not ok and e.code == "usage" and #e.items == 5, tostring(e))
assert(not pcall(run.measure, run, { spilt = "test" }))
assert(not pcall(best.at, best, 0) and not pcall(best.at, {}, 1))
assert(not pcall(best.at, best, 0 / 0))
for _, t in ipairs { 1e-60, 9e-6, 1001, math.huge, 0 / 0 } do
  ok, e = pcall(run.measure, run, { near = t })
  assert(not ok and e.message:find("near: must be 1e-5..1e3", 1, true))
  ok, e = pcall(best.at, best, t)
  assert(not ok and e.message:find("must be 1e-5..1e3", 1, true))
end
assert(not pcall(function() return best.naer end))
local nothing, _, code = run:measure{ checkpoint = 3 }
assert(nothing == nil and code == "not_found")

-- Several quantities: a list for each, the first asked in front.
SMALL.stats = { every = "5 steps", of = { "o", "c", "f" } }
local several = assert(qn.train(SMALL))
several:wait()
local stats = several:stats()
assert(stats.of == "c" and rawequal(stats.layers, stats.c) and stats.z == nil)
for _, of in ipairs { "c", "f", "o" } do
  assert(#stats[of] == 2 and stats[of][2].of == of and stats[of][2].layer == 2)
  assert(stats[of].pooled.count == 2 * 4 * 8 * 12)
end
assert(stats.f.pooled.negative == 0 and stats.f[1].positive > 0.5, "a gate")
assert(tostring(stats):match("\nforget gates f at step 20, near zero below 0.1\n"))
assert(stats:at(0.9).f.pooled.near > stats.f.pooled.near)
local gates = assert(several:measure { of = "f,z", split = "test" })
assert(gates.of == "f" and rawequal(gates.layers, gates.f) and gates.c == nil)
assert(gates.negative == 0 and gates.near == gates.f.pooled.near)
assert(gates.z.pooled.count == gates.count)
