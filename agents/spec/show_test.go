package spec

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"aibox/internal/secret"

	"github.com/google/go-cmp/cmp"
)

type shownOptions struct {
	Effort string        `label:"Effort" help:"How hard" choices:"low high" default:"low" mode:"headless"`
	Tools  []string      `label:"Tools" help:"With a | in it" choices:"saw axe"`
	Max    int           `label:"Most" help:"Turns" min:"1" max:"9"`
	Wait   time.Duration `label:"Wait" help:"How long" max:"2h" default:"90s" when:"tools=saw"`
	Fast   bool          `label:"Fast" help:"Hurry" default:"true"`
	Key    secret.Value  `label:"Key" help:"For its vendor" env:"KEY" secret:"true"`
}

func TestOptionTableIsMarkdown(t *testing.T) {
	var out strings.Builder
	if err := Markdown(&out, fieldsIn(t, shownOptions{})); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"| option | values | default | description |",
		"| --- | --- | --- | --- |",
		"| `effort` | `low`, `high` | `low` | How hard (headless only) |",
		"| `tools` | any of `saw`, `axe` |  | With a \\| in it |",
		"| `max` | a number from 1 to 9 |  | Turns |",
		"| `wait` | a length of time of at most 2h | `90s` | How long; only with `tools=saw` |",
		"| `fast` | bool | `true` | Hurry |",
		"| `key` | secret |  | For its vendor |",
		"",
	}, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSchemaMatchesDecode(t *testing.T) {
	got, err := json.MarshalIndent(Schema(shownOptions{}), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"$schema": "https://json-schema.org/draft/2020-12/schema"`,
		`"additionalProperties": false`,
		`"enum": [
    "low",
    "high"
   ]`,
		`"default": "low"`, `"default": "1m30s"`, `"default": true`,
		`"maximum": 9`, `"minimum": 1`, `"uniqueItems": true`, `"writeOnly": true`, `"type": "boolean"`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if Schema(3) != nil {
		t.Error("a number has a schema")
	}
}
