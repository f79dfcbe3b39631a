package spec

import (
	"strings"
	"testing"

	"aibox/internal/amount"
	"aibox/internal/fault"
)

// sized has numbers that depend on the machine.
type sized struct {
	Memory amount.MiB     `label:"M" help:"h" default:"auto" min:"0" max:"4096" auto:"half of the memory" scope:"at-most"`
	CPUs   amount.Decimal `label:"C" help:"h" min:"0" max:"64" auto:"all processors" scope:"at-most"`
	Plain  int            `label:"P" help:"h" min:"0"`
}

func TestAutoIsAWordForANumberOfTheMachine(t *testing.T) {
	v := &sized{}
	if err := Defaults(v); err != nil {
		t.Fatal(err)
	}
	if err := Validate(v); err != nil {
		t.Error(err)
	}
	fields := fieldsIn(t, v)
	memory, cpus, plain := fields[0], fields[1], fields[2]
	if memory.Text(v) != "auto" || memory.Value(v) != "auto" || cpus.Value(v) != nil || cpus.Key != "cpus" {
		t.Errorf("got %q, %v, %v", memory.Text(v), memory.Value(v), cpus.Value(v))
	}
	for _, store := range []error{cpus.Decode(v, "auto"), memory.Decode(v, "auto"), cpus.Set(v, "auto")} {
		if store != nil {
			t.Error(store)
		}
	}
	for _, c := range []struct {
		field Field
		text  string
		value any
	}{{memory, "2048", int64(2048)}, {cpus, "1.5", "1.5"}} {
		got, err := c.field.Replace("auto", &sized{}, c.text)
		if err != nil || got != c.value {
			t.Errorf("%s: %v, %v", c.field.Key, got, err)
		}
		if got, err := c.field.Replace(c.value, &sized{}, "7"); err != nil || got != c.value {
			t.Errorf("%s: %v was replaced by %v, %v", c.field.Key, c.value, got, err)
		}
	}
	for _, err := range []error{plain.Set(v, "auto"), plain.Decode(v, "auto"), memory.Set(v, "-1"), cpus.Set(v, "-0.01"), cpus.Set(v, "1.234"), cpus.Decode(v, true)} {
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("got %v", err)
		}
	}
}

// The word has no order: a repository can neither replace it nor set it.
func TestAutoTightensNothing(t *testing.T) {
	memory := fieldsIn(t, &sized{})[0]
	if err := memory.Tightens("auto", "auto"); err != nil {
		t.Error(err)
	}
	if memory.Tightens("auto", int64(7)) == nil || memory.Tightens(int64(7), "auto") == nil || memory.Tightens(nil, "auto") == nil {
		t.Error("auto was compared with a number")
	}
}

func TestDecimalsHaveTwoDigits(t *testing.T) {
	cpus := fieldsIn(t, &sized{})[1]
	for _, c := range []struct {
		value any
		want  any
	}{{1.5, "1.5"}, {int64(2), "2"}, {"0.25", "0.25"}, {"2.0", "2"}} {
		v := &sized{}
		if err := cpus.Decode(v, c.value); err != nil || cpus.Value(v) != c.want {
			t.Errorf("%v is %v, %v", c.value, cpus.Value(v), err)
		}
	}
	if err := cpus.Tightens("2", "1.5"); err != nil {
		t.Error(err)
	}
	if cpus.Tightens("1.5", "2") == nil || cpus.Tightens("1.5", "0") == nil {
		t.Error("a repository loosened the number")
	}
	if err := cpus.Set(&sized{}, "65"); err == nil || !strings.Contains(err.Error(), "from 0 to 64") {
		t.Errorf("got %v", err)
	}
}
