package main

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLevelsOfTheLog(t *testing.T) {
	for word, want := range map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	} {
		level, err := parseLevel(word, false)
		assert.NoError(t, err)
		assert.Equal(t, want, level)
		level, err = parseLevel(word, true)
		assert.NoError(t, err)
		assert.Equal(t, slog.LevelDebug, level, "a trace of the protocol wants all")
	}
	for _, word := range []string{"", "loud", "info+1", "INFO"} {
		_, err := parseLevel(word, false)
		assert.Error(t, err, word)
	}
}
