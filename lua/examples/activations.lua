-- How do cell states differ between activations? Three short runs, one after
-- the other, and the shares of negative, near-zero and positive states of each.
for _, activation in ipairs { "tanh", "relu", "drelu" } do
  local run = assert(qn.train(qn.preset("demo", {
    name = "try/" .. activation, steps = 300,
    model = { activation = activation, hidden = 64 },
  })))
  run:wait()
  for layer, c in ipairs(run:stats().layers) do
    print(("%-6s layer %d  negative %4.1f%%  near zero %4.1f%%  positive %4.1f%%")
      :format(activation, layer, 100 * c.negative, 100 * c.near, 100 * c.positive))
  end
end
