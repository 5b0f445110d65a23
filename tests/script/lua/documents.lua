-- Writes documents.tsv, reviews.tsv and vectors.txt beside the text: 40 and 20
-- documents whose label one of their words tells, and vectors of all words but
-- two ("zork", "was"). Returns a small classifier of them as a table.
local folder = TEXT:match("^(.*)/")

local function write(name, lines)
  local file <close> = assert(io.open(folder .. "/" .. name, "w"))
  file:write(table.concat(lines, "\n"), "\n")
end

local fillers = { "the", "film", "zork", "and", "plot", "was", "long" }

local function documents(from, to)
  local lines = {}
  for i = from, to do
    local label, words = i % 2, {}
    for w = 1, 3 + i * 7 % 5 do words[w] = fillers[(i + 3 * w) % #fillers + 1] end
    words[#words + 1] = label == 1 and "bright" or "dull"
    lines[#lines + 1] = ("%d\t%d\t%s"):format(label, i, table.concat(words, " "))
  end
  return lines
end

local vectors = {}
for i, word in ipairs { "the", "film", "and", "plot", "long", "bright", "dull" } do
  local numbers = {}
  for j = 1, 6 do numbers[j] = ("%.2f"):format(math.sin(7 * i + 3 * j)) end
  vectors[i] = word .. " " .. table.concat(numbers, " ")
end

write("documents.tsv", documents(1, 40))
write("reviews.tsv", documents(41, 60))
write("vectors.txt", vectors)

return {
  task = "classify", batch = 4, threads = 2, steps = 20,
  data = { train = "documents.tsv", test = "reviews.tsv",
           vectors = "vectors.txt" },
  model = { layers = 1, hidden = 8, embed = 6 },
  optim = { lr = 0.05 }, eval = { every = "5 steps" },
}
