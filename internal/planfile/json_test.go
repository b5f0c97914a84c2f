package planfile

import (
	"encoding/json"
	"fmt"
)

// jsonText returns a decoded YAML value as JSON.
func jsonText(v any) ([]byte, error) { return json.Marshal(stringKeys(v)) }

func stringKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		m := map[string]any{}
		for k, x := range v {
			m[fmt.Sprint(k)] = stringKeys(x)
		}
		return m
	case map[string]any:
		m := map[string]any{}
		for k, x := range v {
			m[k] = stringKeys(x)
		}
		return m
	case []any:
		for i := range v {
			v[i] = stringKeys(v[i])
		}
	}
	return v
}
