package tank

import (
	"brunt/internal/plan/script"
	_ "brunt/internal/protocol/all" // the tests name its protocols
)

func init() { script.Register(Language{}) }
