package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

// exampleText returns a value that the setting takes.
func exampleText(field spec.Field) string {
	switch {
	case len(field.Choices) > 0:
		return field.Choices[0]
	case field.Type == spec.Bool:
		return "true"
	case field.Type == spec.Size:
		return "7MiB"
	case field.Type == spec.Int, field.Type == spec.Money, field.Type == spec.Decimal:
		return "7"
	case field.Type == spec.Duration:
		return "1m30s"
	case field.Type == spec.List:
		return `one,"two, too"`
	default:
		return "some text"
	}
}

func TestEverySettingOfARunCanBeGivenAndTakenAway(t *testing.T) {
	for _, field := range RunFields() {
		var o RunOverrides
		text := exampleText(field)
		if err := o.Set(field.Key, text); err != nil {
			t.Fatal(err)
		}
		if !o.Has(field.Key) || o.Text(field.Key) != text || !slices.Equal(o.Keys(), []string{field.Key}) || o.IsZero() {
			t.Errorf("%s is %q, keys %q", field.Key, o.Text(field.Key), o.Keys())
		}
		if given := o.ForResolve(nil); field.Key != "env" && (len(given) != 1 || given[0].Key != field.Key || given[0].Name != "--"+field.Key) {
			t.Errorf("%s does not reach the settings: %v", field.Key, given)
		}
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var read RunOverrides
		if err := json.Unmarshal(data, &read); err != nil || !read.Equal(o) {
			t.Errorf("%s: %s became %q, %v", field.Key, data, read.Text(field.Key), err)
		}
		clone := o.Clone()
		clone.Delete(field.Key)
		if clone.Has(field.Key) || !clone.IsZero() || !clone.Equal(RunOverrides{}) || !o.Has(field.Key) || o.Equal(clone) {
			t.Errorf("%s is not taken away", field.Key)
		}
	}
}

func TestARepeatedFlagAddsToAListAndReplacesAnythingElse(t *testing.T) {
	var o RunOverrides
	for _, flag := range [][2]string{{"hide", "a,b"}, {"hide", "c"}, {"env", "X=1,2"}, {"env", "Y"}, {"pids", "1"}, {"pids", "2"}, {"inference-tools", "mcp"}, {"inference-tools", ""}} {
		if err := o.Append(flag[0], flag[1]); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(o.Words("hide"), []string{"a", "b", "c"}) || !slices.Equal(o.Words("env"), []string{"X=1,2", "Y"}) || o.Text("pids") != "2" || o.Text("inference-tools") != "mcp" {
		t.Errorf("got %q, %q, %s, %s", o.Words("hide"), o.Words("env"), o.Text("pids"), o.Text("inference-tools"))
	}
	data, err := json.Marshal(o)
	if err != nil || strings.Contains(string(data), "1,2") || !strings.Contains(string(data), `"env":"X,Y"`) {
		t.Errorf("the value of a variable is stored: %s, %v", data, err)
	}
}

func TestAMistakeInASettingOfARunChangesNothing(t *testing.T) {
	var o RunOverrides
	for key, text := range map[string]string{"network": "all", "timeout": "soon", "pids": "-1", "clean": "perhaps", "nosuch": "local", "rootful": "true"} {
		if err := o.Set(key, text); fault.KindOf(err) != fault.Usage || !o.IsZero() {
			t.Errorf("%s=%s: %v, keys %q", key, text, err, o.Keys())
		}
		data, err := json.Marshal(map[string]string{key: text})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, new(RunOverrides)); err == nil {
			t.Errorf("%s is read", data)
		}
	}
}

func TestALimitThatIsLiftedAndASwitchThatIsOffAreGiven(t *testing.T) {
	var o RunOverrides
	for key, text := range map[string]string{"pids": "0", "timeout": "0s", "clean": "false", "model": ""} {
		if err := o.Set(key, text); err != nil || !o.Has(key) || o.Text(key) != text {
			t.Errorf("%s=%s became %q, %v", key, text, o.Text(key), err)
		}
	}
}
