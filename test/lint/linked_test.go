package lint_test

import _ "brunt/internal/protocol/all" // the tests name its protocols
