import { createHash } from 'node:crypto';

/**
 * A budget's whole decision, in one step on the server and by the server's clock. KEYS[1] is a hash with one field
 * a window, "used end", and one a line of keys that was refused, "refusals end-of-their-minute end-of-ban unbans";
 * ends are in milliseconds since the epoch. It expires when the last of them has passed.
 *
 * ARGV: the mode; the number of windows; the ban's unban count, refusals that lead to it, and length; the windows'
 * limits; their lengths; the fields' names, last that of the line of keys if there is one. The mode is
 *   take      count one request in all windows or in none, and a refusal in its line
 *   peek      count nothing
 *   reserve   count one request in the first window or, if that is full, one lookup in the second
 *   giveBack  remove one request from the first window if that still ends at ARGV[3]
 *
 * Returns whether it is allowed (2: refused, and a ban begins; 3: over the limit, but the lookup may take place), the
 * time, used and end of each window, and the four numbers of the line if it has any. The rules are those of WindowTable and Bans: one set of tests holds for both.
 */
const BODY = `
local key, mode, count = KEYS[1], ARGV[1], tonumber(ARGV[2])
local unbans, after, length = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local first = 6 + 2 * count
local line = ARGV[first + count]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('HMGET', key, unpack(ARGV, first))

local used, ends, begins = {}, {}, false
for i = 1, count do
  local u, e = string.match(stored[i] or '', '^(%d+) (%d+)$')
  used[i], ends[i] = tonumber(u or 0), tonumber(e or 0)
  if ends[i] <= now then used[i], ends[i], begins = 0, now + ARGV[5 + count + i], true end
end

local function hasRoom(i) return used[i] < tonumber(ARGV[5 + i]) end

local function parseLine(text)
  local r, m, b, n = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+)$')
  if r then return { tonumber(r), tonumber(m), tonumber(b), tonumber(n) } end
end

local function expireAt(at)
  if at > redis.call('PEXPIRETIME', key) then redis.call('PEXPIREAT', key, at) end
end

local function countIn(from, to)
  local fields = {}
  for i = from, to do
    used[i] = used[i] + 1
    fields[#fields + 1] = ARGV[first + i - 1]
    fields[#fields + 1] = used[i] .. ' ' .. string.format('%.0f', ends[i])
  end
  redis.call('HSET', key, unpack(fields))
  if begins then expireAt(math.max(unpack(ends, from, to))) end
end

local function giveBack()
  used[1] = used[1] - 1
  if used[1] > 0 then
    redis.call('HSET', key, ARGV[first], used[1] .. ' ' .. string.format('%.0f', ends[1]))
  else
    redis.call('HDEL', key, ARGV[first])
    ends[1] = now + ARGV[5 + count + 1]
  end
end

-- Some of the lines whose minute and ban are over go whenever one begins, so that they do not pile up.
local function sweep()
  local sample = redis.call('HRANDFIELD', key, 8, 'WITHVALUES')
  for i = 1, #sample, 2 do
    local old = parseLine(sample[i + 1])
    if old and old[2] <= now and old[3] <= now then redis.call('HDEL', key, sample[i]) end
  end
end

local refusals = line and parseLine(stored[count + 1])

-- Returns whether a ban begins.
local function refuse()
  if after == 0 or length == 0 then return false end
  if not refusals or refusals[4] < unbans or refusals[2] <= now then
    sweep()
    refusals = { 0, now + 60000, 0, unbans }
  end
  refusals[1] = refusals[1] + 1
  local bans = refusals[1] >= after
  -- Counting starts anew after the ban.
  if bans then refusals[2], refusals[3] = 0, now + length end
  redis.call('HSET', key, line, string.format('%.0f %.0f %.0f %.0f', unpack(refusals)))
  expireAt(math.max(refusals[2], refusals[3]))
  return bans
end

local banned = refusals and refusals[4] >= unbans and refusals[3] > now
local allowed = 0
if mode == 'reserve' then
  if hasRoom(1) then countIn(1, 1) allowed = 1
  elseif hasRoom(2) then countIn(2, 2) allowed = 3 end
elseif mode == 'giveBack' then
  if used[1] > 0 and ends[1] == tonumber(ARGV[3]) then giveBack() end
  if hasRoom(1) then allowed = 1 end
elseif not banned then
  allowed = 1
  for i = 1, count do if not hasRoom(i) then allowed = 0 end end
  if mode == 'take' then
    if allowed == 1 then countIn(1, count)
    elseif line and refuse() then allowed = 2 end
  end
end

local reply = { allowed, now }
for i = 1, count do reply[2 * i + 1], reply[2 * i + 2] = used[i], ends[i] end
for i = 1, refusals and 4 or 0 do reply[#reply + 1] = refusals[i] end
return reply
`;

/** A script and the digest by which the server knows it. */
export interface LimitScript {
  readonly text: string;
  readonly sha1: string;
}

function limitScript(shebang: string): LimitScript {
  const text = `${shebang}\n${BODY}`;
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

/** When the server's memory is used up, owners are counted all the same and addresses are not. */
export const LIMIT_SCRIPTS = {
  owner: limitScript('#!lua flags=allow-oom'),
  address: limitScript('#!lua'),
} as const;
