package k6x

import _ "brunt/internal/protocol/all" // the tests' plans name them
