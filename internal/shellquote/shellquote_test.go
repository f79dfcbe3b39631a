package shellquote

import (
	"os/exec"
	"testing"
)

func TestACommandLineCanBePasted(t *testing.T) {
	for word, want := range map[string]string{
		"a": "a", "--x=1,2": "--x=1,2", "": "''", "a b": "'a b'", "it's": `"it's"`, "it's $5": `'it'\''s $5'`, "$(rm)": "'$(rm)'", "~": "'~'", "é": "'é'",
	} {
		if got := Join([]string{word}); got != want {
			t.Errorf("%q became %s, want %s", word, got, want)
		}
	}
}

func FuzzAShellReadsTheWord(f *testing.F) {
	for _, word := range []string{"it's", "'", `'"'`, "a'`b`", "'\\'", "'\n", "'!x", "-n", "'$x"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, c := range []byte(word) {
			if c == 0 {
				return // arguments cannot contain a zero byte
			}
		}
		out, err := exec.Command("sh", "-c", "printf %s. "+Join([]string{word})).Output()
		if err != nil || string(out) != word+"." {
			t.Errorf("%q came back as %q: %v", word, out, err)
		}
	})
}
