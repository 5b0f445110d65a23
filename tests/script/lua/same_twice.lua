-- The same table gives the same losses, and so does the config of its run.
local a = assert(qn.train(SMALL))
local b = assert(qn.train(SMALL))
assert(a ~= b and a:wait() and b:wait())
local c = assert(qn.train(a.config))
assert(c:wait() and c.config == a.config)
for i = 1, 20 do
  local loss = a:metric("train.loss")[i].value
  assert(loss == b:metric("train.loss")[i].value)
  assert(loss == c:metric("train.loss")[i].value)
end
local other = a.config:with{ seed = 2 }
assert(other ~= a.config and other.seed == 2)
local d = assert(qn.train(other))
assert(d:wait() and d.loss ~= a.loss)
