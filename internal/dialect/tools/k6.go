package tools

import "brunt/internal/dialect/k6"

func init() { link(k6x.Tool()) } // the tag nok6 leaves out k6 itself
