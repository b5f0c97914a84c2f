package picostress

import _ "brunt/internal/protocol/all" // the tests' plans name them
