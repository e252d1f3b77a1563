/**
 * Decides on a request atomically on the server, on the server's clock. The rules are those of
 * InProcessStorage, and the same tests check both.
 *
 * KEYS[1] is a hash. It has one field per window and throttled route, "used end", and one per
 * lineage with rejections, "count end-of-minute end-of-ban unban-count". All times are in
 * milliseconds since the epoch. The hash expires when the last of them has passed. An end that is
 * later than one length from now is from before the server's clock was set back: it has passed.
 *
 * ARGV: the mode; the number of windows; the ban's unban count, its number of rejections and its
 * length; the limits of the windows; their lengths; their names; the name of the lineage, if any.
 * The mode `consume` counts one request in all windows or in none, and a rejection in the lineage.
 * The mode `peek` counts nothing. Nor does `probe`, which fails if `consume` can fail: it runs all commands.
 *
 * Returns the outcome (0: rejected, 1: allowed, 2: rejected, and a ban starts), the time, the two
 * numbers of each window, and the four of the lineage, if any.
 */
const BODY = `
local key, mode, count = KEYS[1], ARGV[1], tonumber(ARGV[2])
local unbans, after, length = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local first = 6 + 2 * count
local lineage = ARGV[first + count]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('HMGET', key, unpack(ARGV, first))

local used, ends, allowed, starts = {}, {}, 1, false
for i = 1, count do
  local u, e = string.match(stored[i] or '', '^(%d+) (%d+)$')
  used[i], ends[i] = tonumber(u or 0), tonumber(e or 0)
  local last = now + ARGV[5 + count + i]
  if ends[i] <= now or ends[i] > last then used[i], ends[i], starts = 0, last, true end
  if used[i] >= tonumber(ARGV[5 + i]) then allowed = 0 end
end

local function parseLineage(text)
  local r, m, b, n = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+)$')
  if r then return { tonumber(r), tonumber(m), tonumber(b), tonumber(n) } end
end

local function expireAt(at)
  if at > redis.call('PEXPIRETIME', key) then redis.call('PEXPIREAT', key, at) end
end

local function countRequest()
  local fields = {}
  for i = 1, count do
    used[i] = used[i] + 1
    fields[#fields + 1] = ARGV[first + i - 1]
    fields[#fields + 1] = used[i] .. ' ' .. string.format('%.0f', ends[i])
  end
  redis.call('HSET', key, unpack(fields))
  if starts then expireAt(math.max(unpack(ends))) end
end

-- Deletes some lineages whose minute and ban have ended whenever one is added.
local function sweep()
  local sample = redis.call('HRANDFIELD', key, 8, 'WITHVALUES')
  for i = 1, #sample, 2 do
    local old = parseLineage(sample[i + 1])
    if old and old[2] <= now and old[3] <= now then redis.call('HDEL', key, sample[i]) end
  end
end

-- An ACL can allow a part of the commands. The first ones change nothing.
if mode == 'probe' then
  redis.call('HRANDFIELD', key, 1)
  redis.call('PEXPIRETIME', key)
  redis.call('PEXPIREAT', key, now, 'GT')
  redis.call('HDEL', key, mode)
  redis.call('HSET', key, mode, '')
  redis.call('HDEL', key, mode)
end

local rejections = lineage and parseLineage(stored[count + 1])
if rejections and (rejections[2] > now + 60000 or rejections[3] > now + length) then
  rejections = nil
end

-- Returns whether a ban starts.
local function reject()
  if after == 0 or length == 0 then return false end
  if not rejections or rejections[4] < unbans or rejections[2] <= now then
    sweep()
    rejections = { 0, now + 60000, 0, unbans }
  end
  rejections[1] = rejections[1] + 1
  local bans = rejections[1] >= after
  -- After the ban, counting restarts.
  if bans then rejections[2], rejections[3] = 0, now + length end
  redis.call('HSET', key, lineage, string.format('%.0f %.0f %.0f %.0f', unpack(rejections)))
  expireAt(math.max(rejections[2], rejections[3]))
  return bans
end

if rejections and rejections[4] >= unbans and rejections[3] > now then allowed = 0
elseif mode == 'consume' then
  if allowed == 1 then countRequest()
  elseif lineage and reject() then allowed = 2 end
end

local reply = { allowed, now }
for i = 1, count do reply[2 * i + 1], reply[2 * i + 2] = used[i], ends[i] end
for i = 1, rejections and 4 or 0 do reply[#reply + 1] = rejections[i] end
return reply
`;

/**
 * Returns the scripts. Owners are counted even if the server is out of memory, addresses are not.
 *
 * @param database the number of the database. The scripts select it, because ioredis goes on in database 0 when the
 *   SELECT at the start of a connection fails
 */
export function limitScripts(database: number) {
  const text = database === 0 ? BODY : `redis.call('SELECT', ${database})\n${BODY}`;
  return { owner: `#!lua flags=allow-oom\n${text}`, address: `#!lua\n${text}` };
}
