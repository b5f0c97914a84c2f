package testserver

import "fmt"

// Vshard starts Tarantools that respond like the storages of a vshard cluster. Each storage has an equal share of the
// buckets, in order. Debian has no package of vshard. Instead, the servers implement the space _bucket,
// vshard.storage.buckets_info and vshard.storage.call, whose errors have the form of vshard's (vshard/error.lua). The
// function touch(id) acts as the application's: it computes the bucket of its key by murmur3 and returns the result of
// vshard.storage.call. raise(id) raises the error instead. served and refused count the calls by result.
func Vshard(t TB, storages, buckets int, opts ...Option) []*Server {
	t.Helper()
	var all []*Server
	for i := range storages {
		all = append(all, VshardStorage(t, i, storages, buckets, opts...))
	}
	return all
}

// VshardStorage starts one of the storages of Vshard. number counts from 0.
func VshardStorage(t TB, number, storages, buckets int, opts ...Option) *Server {
	t.Helper()
	first, last := buckets*number/storages+1, buckets*(number+1)/storages
	return Tarantool(t, append(opts, Lua(fmt.Sprintf(vshardProgram, buckets, first, last)))...)
}

// vshardProgram takes the number of buckets, and the first and the last bucket of this storage.
const vshardProgram = `
local digest, msgpack, json = require('digest'), require('msgpack'), require('json')
local count = %d
local s = box.schema.space.create('_bucket', {if_not_exists = true, format = {
	{'id', 'unsigned'}, {'status', 'string'}, {'destination', 'string', is_nullable = true}}})
s:create_index('pk', {if_not_exists = true})
for id = %d, %d do s:replace{id, 'active'} end
served, refused = 0, 0
vshard = {storage = {}}
function vshard.storage.buckets_info()
	local info = setmetatable({}, {__serialize = 'mapping'})
	for _, b in s:pairs() do info[b.id] = {id = b.id, status = b.status} end
	return info
end
local function sharding_error(code, name, id, message, extra)
	local e = extra or {}
	e.type, e.code, e.name, e.bucket_id, e.message = 'ShardingError', code, name, id, message
	return setmetatable(e, {__tostring = json.encode})
end
function vshard.storage.call(id, mode, name, args)
	local b = s:get(id)
	if b ~= nil and b.status == 'sending' and mode == 'write' then
		refused = refused + 1
		return nil, sharding_error(7, 'TRANSFER_IS_IN_PROGRESS', id,
			string.format('Bucket %%d is transferring to replicaset %%s', id, b.destination))
	end
	if b == nil or b.status ~= 'active' then
		refused = refused + 1
		return nil, sharding_error(1, 'WRONG_BUCKET', id,
			string.format('Cannot perform action with bucket %%d, reason: Not found', id), {reason = 'Not found'})
	end
	served = served + 1
	return true, _G[name](unpack(args))
end
local function bucket_of(id) return digest.murmur(msgpack.encode(id)) %% count + 1 end
function done(id) return id end
function touch(id) return vshard.storage.call(bucket_of(id), 'write', 'done', {id}) end
function raise(id)
	local ok, result = touch(id)
	if not ok then error(result) end
	return result
end
`
