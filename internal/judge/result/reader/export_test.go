package reader

// Decode is decode, for tests.
var Decode = decode
