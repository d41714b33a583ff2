// Package suite holds the test suite to its own rules: which packages run under the
// race detector, and which under the sanitizers.
package suite
