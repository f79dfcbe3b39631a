package git

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"aibox/internal/command"
)

// Setting is one of git's settings. If a name is there several times, the last one counts.
type Setting struct {
	Name  string // with the section and the key in lower case
	Value string
	given bool // there is a value, even if it is empty
}

// IsTrue reports whether git takes the value for true. See "Values" in git-config(1).
func (s Setting) IsTrue() bool {
	switch strings.ToLower(s.Value) {
	case "true", "yes", "on":
		return true
	}
	number, err := strconv.Atoi(s.Value)
	return !s.given || err == nil && number != 0
}

// Settings returns the settings whose names match a regular expression of git's, weaker ones
// first; none if nothing is set.
func (r *Repo) Settings(ctx context.Context, names string) ([]Setting, error) {
	records, err := r.Records(ctx, "config", "-z", "--get-regexp", names)
	if failed, ok := errors.AsType[*command.Error](err); ok && failed.Code == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	settings := make([]Setting, len(records))
	for i, record := range records {
		s := &settings[i]
		s.Name, s.Value, s.given = strings.Cut(record, "\n")
	}
	return settings, nil
}

// Env returns settings as environment variables for With. They override those of the user.
func Env(settings map[string]string) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	n := 0
	for key, value := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		n++
	}
	return env
}
