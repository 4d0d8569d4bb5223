-- Counts a request in all windows of a client if each has room, else in none: what Limiter.Take does, for several nodes.
-- KEYS: one list per window, the times of its counted requests in microseconds, oldest first. ARGV: limit and length in microseconds of each.
-- Returns allowed (1 or 0), the time, then count and oldest time (-1: none) of each window. The clock is this server's alone.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
for _, key in ipairs(KEYS) do
  now = math.max(now, tonumber(redis.call('LINDEX', key, -1)) or 0) -- the server's clock was set back
end
local allowed = 1
for i, key in ipairs(KEYS) do
  local cutoff = now - ARGV[2 * i]
  local oldest = tonumber(redis.call('LINDEX', key, 0))
  while oldest and oldest <= cutoff do
    redis.call('LPOP', key)
    oldest = tonumber(redis.call('LINDEX', key, 0))
  end
  if redis.call('LLEN', key) >= tonumber(ARGV[2 * i - 1]) then
    allowed = 0
  end
end
local answer = {allowed, now}
for i, key in ipairs(KEYS) do
  if allowed == 1 then
    redis.call('RPUSH', key, string.format('%.0f', now))
    redis.call('PEXPIRE', key, math.ceil(ARGV[2 * i] / 1000) + 1)
  end
  answer[#answer + 1] = redis.call('LLEN', key)
  answer[#answer + 1] = tonumber(redis.call('LINDEX', key, 0)) or -1
end
return answer
