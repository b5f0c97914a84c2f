package planfile

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

// Write returns a plan as YAML that Read turns into an equal plan, shorthands resolved. Secrets (the
// password, options, HTTP headers and parameters of URLs whose names sound secret, and credentials in
// addresses) are replaced by ***; Secrets puts them back.
func Write(p *plan.Plan) ([]byte, error) {
	out, err := yaml.Dump(newFormat().write(valueOf(p)))
	if err != nil {
		return nil, fmt.Errorf("write the plan as YAML: %w", err)
	}
	return out, nil
}
