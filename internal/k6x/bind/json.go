//go:build !nok6

package bind

import (
	"encoding/json"
	"errors"
	"math/big"
)

// maxDepth of arrays and objects in each other: some hold themselves.
const maxDepth = 128

var errDepth = errors.New("arrays and objects hold themselves, or too many each other")

// marshal writes what Plain returned as JSON. BigInts are written as numbers.
func marshal(x any) ([]byte, error) {
	x, err := numbers(x, 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(x)
}

func numbers(x any, depth int) (_ any, err error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	switch x := x.(type) {
	case *big.Int:
		return json.Number(x.String()), nil
	case []any:
		out := make([]any, len(x))
		for i := range x {
			if out[i], err = numbers(x[i], depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			if out[k], err = numbers(x[k], depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return x, nil
}
