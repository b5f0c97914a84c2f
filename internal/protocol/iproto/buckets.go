package iproto

import (
	"cmp"
	"context"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
)

var _ protocol.BucketReader = (*Driver)(nil)

// vshardBuckets returns the ranges of buckets that a vshard storage holds, in the order of its space _bucket.
// Buckets being sent to another node still count; buckets being received don't yet (vshard/consts.lua, BUCKET).
// A replica has a copy of its master's space and accepts no writes, so it returns no ranges.
const vshardBuckets = `local here = {active = true, pinned = true, readonly = true, sending = true}
local ranges, last = {}, nil
if box.info.ro then return ranges end
if box.space._bucket == nil then
	error('there is no space _bucket that this user can see: vshard is not configured here, or the right to read it is missing')
end
for _, b in box.space._bucket:pairs() do
	if here[b[2]] then
		if last ~= nil and last[2] + 1 == b[1] then
			last[2] = b[1]
		else
			last = {b[1], b[1]}
			table.insert(ranges, last)
		end
	end
end
return ranges`

// Buckets implements protocol.BucketReader. The user needs the privilege to run programs and, for vshard, to
// read the space _bucket.
func (*Driver) Buckets(ctx context.Context, t protocol.Target, program string) ([]protocol.BucketRange, error) {
	r, err := evaluate(ctx, t, cmp.Or(program, vshardBuckets))
	if err != nil {
		return nil, err
	}
	ranges, ok := r.bucketRanges()
	if !ok {
		return nil, protocol.Bad("%s", "the program for the map of buckets must return an array of {first, last} or "+
			"{first, last, address}")
	}
	return ranges, nil
}

// bucketRanges reads what a program returned: a single array of ranges.
func (r *reader) bucketRanges() (ranges []protocol.BucketRange, ok bool) {
	switch {
	case r.Array() != 1:
		return nil, false
	case r.Peek() == 0x80: // Lua may encode an empty table as a map
		return nil, true
	case !isArray(r.Peek()):
		return nil, false
	}
	for n := r.Array(); n > 0 && r.Err == msgpack.Fine; n-- {
		if !isArray(r.Peek()) {
			return nil, false
		}
		columns := r.Array()
		if columns != 2 && columns != 3 {
			return nil, false
		}
		var v [3]gen.Value
		for i := range columns {
			r.Value(&v[i])
		}
		if v[0].Kind != gen.Int || v[1].Kind != gen.Int || v[0].I < 1 || v[1].I < v[0].I ||
			columns == 3 && v[2].Kind != gen.String {
			return nil, false
		}
		one := protocol.BucketRange{From: uint64(v[0].I), To: uint64(v[1].I)}
		if columns == 3 {
			one.Address = string(template.AppendValue(nil, &v[2]))
		}
		ranges = append(ranges, one)
	}
	return ranges, r.Err == msgpack.Fine
}
