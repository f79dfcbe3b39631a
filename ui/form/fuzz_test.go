package form

import (
	"reflect"
	"testing"

	"aibox/agents/spec"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"
)

// keysOfAll are the keys that mean something somewhere, and a few that do not.
var keysOfAll = []tea.KeyPressMsg{
	{Code: tea.KeyEnter},
	{Code: tea.KeyTab},
	{Code: tea.KeyTab, Mod: tea.ModShift},
	{Code: tea.KeyUp},
	{Code: tea.KeyDown},
	{Code: tea.KeyLeft},
	{Code: tea.KeyRight},
	{Code: tea.KeyHome},
	{Code: tea.KeyEnd},
	{Code: tea.KeyPgUp},
	{Code: tea.KeyPgDown},
	{Code: tea.KeyBackspace},
	{Code: tea.KeyDelete},
	{Code: tea.KeySpace, Text: " "},
	{Code: tea.KeyF1},
	{Code: 's', Mod: tea.ModCtrl},
	{Code: 'o', Mod: tea.ModCtrl},
	{Code: 'a', Mod: tea.ModCtrl},
	{Code: 'd', Mod: tea.ModCtrl},
	{Code: 'u', Mod: tea.ModCtrl},
	{Code: 'n', Mod: tea.ModCtrl},
	{Code: 'p', Mod: tea.ModCtrl},
	{Code: 'e', Mod: tea.ModCtrl},
	{Code: 'j', Mod: tea.ModCtrl},
	{Code: 'k', Mod: tea.ModCtrl},
	{Code: 'w', Mod: tea.ModCtrl},
	{Code: '/', Text: "/"},
	{Code: 'j', Text: "j"},
	{Code: 'k', Text: "k"},
	{Code: 'g', Text: "g"},
	{Code: 'G', Text: "G"},
	{Code: 'x', Text: "x"},
	{Code: 'y', Text: "y"},
	{Code: '1', Text: "1"},
	{Code: '"', Text: `"`},
	{Code: ',', Text: ","},
	{Code: 'é', Text: "é"},
	{Code: tea.KeyEscape},
	{Code: 'a', Mod: tea.ModAlt, Text: "a"},
}

// typed plays messages chosen by bytes, and says whether one of them left the form.
func typed(t interface{ Fatalf(string, ...any) }, m *model, stream []byte) bool {
	for i, b := range stream {
		var msg tea.Msg = keysOfAll[int(b)%len(keysOfAll)]
		switch {
		case b == 255:
			msg = tea.WindowSizeMsg{Width: i * 7 % 130, Height: i * 3 % 50}
		case b == 254:
			msg = tea.PasteMsg{Content: "a\nb\x00c\x1b[31m"}
		case b == 253:
			msg = suggested{m.questions, m.asked, "model", []string{"one", "two"}}
		case b == 252:
			msg = tea.BackgroundColorMsg{}
		}
		_, cmd := m.Update(msg)
		m.View()
		if press, ok := msg.(tea.KeyPressMsg); ok && cmd != nil && (m.done || press.Code == tea.KeyEscape) && cmd() == tea.Quit() {
			return true
		}
	}
	return false
}

func checkStream(t interface{ Fatalf(string, ...any) }, stream []byte) {
	options := &everything{}
	if err := spec.Defaults(options); err != nil {
		t.Fatalf("%v", err)
	}
	before := spec.Clone(options)
	m := newModel(request(options))
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	typed(t, m, stream)
	if !reflect.DeepEqual(options, before) {
		t.Fatalf("written before the end: %+v", options)
	}
	done, err := m.finish()
	if err != nil || done != m.done || !done && !reflect.DeepEqual(options, before) {
		t.Fatalf("done %t, %v: %+v", done, err, options)
	}
	if done {
		if err := spec.Validate(options); err != nil {
			t.Fatalf("finished with what cannot stand: %v", err)
		}
	}
}

func TestNoKeysBreakTheFormOrChangeWhatWasNotFinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkStream(t, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "keys"))
	})
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte{0, 26, 37, 4, 0, 15, 0})
	f.Add([]byte{26, 33, 4, 4, 37, 13, 254, 255, 15})
	f.Fuzz(func(t *testing.T, stream []byte) { checkStream(t, stream[:min(len(stream), 200)]) })
}
