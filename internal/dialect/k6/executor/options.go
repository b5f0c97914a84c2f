package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
	"gopkg.in/guregu/null.v3"
)

// kinds are the types of options as error messages describe them.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[null.Float]():         "a number",
	reflect.TypeFor[null.Int]():           "a whole number",
	reflect.TypeFor[null.String]():        "a string",
	reflect.TypeFor[types.NullDuration](): `a time such as "10s"`,
	reflect.TypeFor[[]string]():           "an array of strings",
	reflect.TypeFor[map[string]string]():  "an object of strings",
	reflect.TypeFor[[]Stage]():            `an array such as [{duration: "10s", target: 100}]`,
}

// readOptions decodes a scenario's options into a configuration. The error names the first invalid option, but no
// values, since one may be a password.
func readOptions(scenario string, text []byte, config lib.ExecutorConfig) error {
	err := lib.StrictJSONUnmarshal(text, config)
	var options map[string]json.RawMessage
	if err == nil || json.Unmarshal(text, &options) != nil {
		return err
	}
	struc := reflect.TypeOf(config).Elem()
	known := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(struc) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			known[name] = f.Type
		}
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		field, ok := known[name]
		if !ok {
			return fmt.Errorf("scenario %s: unknown option %q; there are %s", scenario, name,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if kind := kinds[field]; kind != "" && json.Unmarshal(options[name], reflect.New(field).Interface()) != nil {
			return fmt.Errorf("scenario %s: the option %q isn't %s", scenario, name, kind)
		}
	}
	return err
}
