package custom

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

func TestSchemaHasExactlyTheFileKeys(t *testing.T) {
	data, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	type table struct {
		Properties map[string]struct {
			Type       string
			Enum       []string
			Items      *struct{ Properties map[string]any }
			Properties map[string]any
		}
		Required []string
	}
	var root table
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(root.Properties)), slices.Sorted(slices.Values(names(""))); !slices.Equal(got, want) {
		t.Errorf("the top has %q, want %q", got, want)
	}
	if want := []string{"title", "summary", "command"}; !slices.Equal(root.Required, want) {
		t.Errorf("required: %q, want %q", root.Required, want)
	}
	for _, s := range sections[1:] {
		properties := root.Properties[s.name].Properties
		if s.array {
			properties = root.Properties[s.name].Items.Properties
		}
		if got, want := slices.Sorted(maps.Keys(properties)), slices.Sorted(slices.Values(names(s.name))); !slices.Equal(got, want) {
			t.Errorf("[%s] has %q, want %q", s.name, got, want)
		}
	}
}

func TestEverySchemaValueIsAccepted(t *testing.T) {
	for _, k := range keys {
		for _, word := range k.words() {
			switch k.table + "." + k.name {
			case ".speaks":
				parsed(t, "speaks = [\""+word+"\"]\ntitle = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"b\", \"{endpoint}\"]\n")
			case "command.stdin":
				parsed(t, "title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"b\"]\nstdin = \""+word+"\"\n")
			case "option.type":
				more := ""
				if word == "choice" || word == "choices" {
					more = "choices = [\"a\"]\n"
				}
				parsed(t, small+"[[option]]\nkey = \"x\"\nlabel = \"X\"\nhelp = \"h\"\nenv = \"X\"\ntype = \""+word+"\"\n"+more)
			default:
				parsed(t, small+"[[option]]\nkey = \"x\"\nlabel = \"X\"\nhelp = \"h\"\nenv = \"X\"\ntype = \"bool\"\n"+k.name+" = \""+word+"\"\n")
			}
		}
	}
}
