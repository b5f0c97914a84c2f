package plan

import (
	"strconv"
	"strings"
)

// Weighted returns the target's addresses without their weights, as in host:port*3, and the weights,
// 1 where none is given; nil if no address has one.
func (t *Target) Weighted() (addresses []string, weights []int) {
	any := false
	for _, a := range t.Addresses {
		weight := 1
		if at := strings.LastIndexByte(a, '*'); at > 0 {
			if n, err := strconv.Atoi(a[at+1:]); err == nil {
				a, weight, any = a[:at], n, true
			}
		}
		addresses, weights = append(addresses, a), append(weights, weight)
	}
	if !any {
		return addresses, nil
	}
	return addresses, weights
}
