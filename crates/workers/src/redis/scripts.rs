//! Whatever changes more than one key in Redis does so in a script, so that it happens wholly or not at all. Keys are named where
//! they are known before; Redis Cluster, which needs all of them, is not supported.

use redis::Script;
use std::sync::LazyLock;

/// A token goes out, and the hash says where it is; unless it says so already. A large input is put beside it, and stays for as long
/// as a token has it. One that cannot go out holds up no other: it is answered with what Redis says.
pub static SEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local function try(...)
           local answer = redis.pcall(...)
           if type(answer) == 'table' and answer.err then return nil, answer.err end
           return answer, nil
         end
         local refused = {}
         for i = 1, #ARGV, 8 do
           if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0 then
             local name, at, why = ARGV[i + 5], nil, nil
             local value = 'cas:' .. name
             if name ~= '' and redis.call('PTTL', value) < tonumber(ARGV[i + 7]) then
               at, why = try('SET', value, ARGV[i + 6], 'PX', ARGV[i + 7])
             end
             if not why then
               at, why = try('XADD', ARGV[i + 1], '*', 'token', ARGV[i + 2], 'run_id', ARGV[i + 3], 'to_node', ARGV[i + 4])
             end
             if why then
               refused[#refused + 1] = {ARGV[i], why}
             elseif name == '' then
               redis.call('HSET', KEYS[1], ARGV[i], at .. ' ' .. ARGV[i + 1])
             else
               redis.call('HSET', KEYS[1], ARGV[i], at .. ':' .. name .. ' ' .. ARGV[i + 1])
               redis.call('SADD', KEYS[2] .. name, ARGV[i])
             end
           end
         end
         return refused",
    )
});

/// The first signals go to the list beside theirs. What is answered are the first of that list, whoever put them there: a line that
/// broke may have moved one and never told. A Redis without memory moves nothing: then they are answered where they stand.
pub static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local count, bytes_max, step = tonumber(ARGV[1]), tonumber(ARGV[2]), 50
         local function first(key)
           local texts, bytes = {}, 0
           for from = 0, count - 1, step do
             local some = redis.call('LRANGE', key, from, math.min(from + step, count) - 1)
             for _, text in ipairs(some) do
               bytes = bytes + #text
               if #texts > 0 and bytes > bytes_max then return texts end
               texts[#texts + 1] = text
             end
             if #some < step then break end
           end
           return texts
         end
         local taken = first(KEYS[1])
         if #taken > 0 then
           local moved = redis.pcall('RPUSH', KEYS[2], unpack(taken))
           if type(moved) ~= 'table' then
             redis.call('LTRIM', KEYS[1], #taken, -1)
           elseif not string.find(moved.err, 'OOM', 1, true) then
             return moved
           elseif redis.call('LLEN', KEYS[2]) == 0 then
             return {1, taken}
           end
         end
         return {0, first(KEYS[2])}",
    )
});

/// Signals that are being heard are kept under other texts, if they are still there.
pub static MARK: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 1, #ARGV, 3 do
           if redis.call('LINDEX', KEYS[1], ARGV[i]) == ARGV[i + 1] then
             redis.pcall('LSET', KEYS[1], ARGV[i], ARGV[i + 2])
           end
         end",
    )
});

/// The first so many signals were heard, but for those that are put to the end to be heard again; and these tokens are out no more.
/// What somebody made of a stream meanwhile does not stop it.
pub static DROP: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 3, 2 + ARGV[2] do
           redis.call('RPUSH', KEYS[2], ARGV[i])
         end
         for i = 3 + ARGV[2], #ARGV do
           local at = redis.call('HGET', KEYS[1], ARGV[i])
           local space = at and string.find(at, ' ', 1, true)
           if space then
             local entry = string.sub(at, 1, space - 1)
             local colon = string.find(entry, ':', 1, true)
             if colon then
               local name = string.sub(entry, colon + 1)
               entry = string.sub(entry, 1, colon - 1)
               redis.call('SREM', KEYS[3] .. name, ARGV[i])
               if redis.call('SCARD', KEYS[3] .. name) == 0 then
                 redis.pcall('DEL', 'cas:' .. name)
               end
             end
             redis.pcall('XDEL', string.sub(at, space + 1), entry)
           end
           if at then redis.call('HDEL', KEYS[1], ARGV[i]) end
         end
         redis.call('LTRIM', KEYS[2], ARGV[1], -1)",
    )
});
