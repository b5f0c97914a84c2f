package selftest

import _ "brunt/internal/protocol/all" // the tests' plans name them
