package jmeter

import _ "brunt/internal/protocol/all" // the tests name its protocols
