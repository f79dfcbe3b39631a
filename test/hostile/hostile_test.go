package hostile

import "testing"

func TestTheCorpusIsLargeAndNamesEachAttackOnce(t *testing.T) {
	names := map[string]bool{}
	for _, a := range Attacks() {
		if names[a.Name] {
			t.Errorf("two attacks are called %q", a.Name)
		}
		names[a.Name] = true
	}
	for _, tree := range Trees() {
		if names[tree.Name] {
			t.Errorf("two trees are called %q", tree.Name)
		}
		names[tree.Name] = true
	}
	if known := len(Attacks()); known < 100 {
		t.Errorf("only %d attacks", known)
	}
}
