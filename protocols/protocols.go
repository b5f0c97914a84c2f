// Package protocols links all protocols of brunt into a program, so that plans may name them:
//
//	import _ "brunt/protocols"
//
// The packages below it link a single one each, which makes a smaller program.
package protocols

import _ "brunt/internal/protocol/all" // registers them
