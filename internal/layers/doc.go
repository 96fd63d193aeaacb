// Package layers has only a test: that each package imports what the architecture lets it
// import and nothing else. depguard says the same to editors, from .golangci.yml.
package layers
