package keyspace

import (
	"strconv"
	"strings"
)

// AppendIntegrity appends the value that a field must have, by which a read can be checked: the
// key, a colon, the field's name in lower case, and then repeatedly a colon and the decimal FNV-1a
// 64 of all that stands before, cut to length bytes.
func AppendIntegrity(dst []byte, key []byte, field string, length int) []byte {
	start := len(dst)
	dst = append(append(dst, key...), ':')
	dst = append(dst, strings.ToLower(field)...)
	h, hashed := uint64(fnvBasis), start
	for len(dst)-start < length {
		dst = append(dst, ':')
		for ; hashed < len(dst); hashed++ {
			h = (h ^ uint64(dst[hashed])) * fnvPrime
		}
		dst = strconv.AppendUint(dst, h, 10)
	}
	return dst[:start+length]
}
