package secrets

import (
	"strings"
	"testing"
)

// Paths that gitleaks leaves out are matched before large texts and after small ones.
func TestTheSizeOfATextDoesNotDecideWhetherItsPathIsLeftOut(t *testing.T) {
	const secret = "aws_access_key_id = AKIAQ3EGRYTZXWJ5N7PB\n"
	for _, padding := range []int{0, 2 * smallText} {
		text := []byte(strings.Repeat("#", padding) + "\n" + secret)
		const budget = 1 << 20
		if found, left := Find("src/config.txt", text, budget); len(found) == 0 || left >= budget {
			t.Errorf("in %d bytes of an ordinary file: %v, %d left", len(text), found, left)
		}
		if found, left := Find("node_modules/x/config.txt", text, budget); len(found) > 0 || left != budget {
			t.Errorf("in %d bytes of a file that is left out: %v, %d left", len(text), found, left)
		}
		if found, left := Find("node_modules/x/config.txt", text, 1); len(found) > 0 || left != 1 {
			t.Errorf("with a small budget: %v, %d left", found, left)
		}
		if _, left := Find("src/config.txt", text, 1); left >= 0 {
			t.Errorf("a budget of 1 is enough: %d", left)
		}
	}
}

func BenchmarkSmallFileWithALongPath(b *testing.B) {
	path := strings.Repeat(strings.Repeat("d", 114)+"/", 28) + strings.Repeat("n", 112)
	for b.Loop() {
		Find(path, []byte("12345\n"), 1<<20)
	}
}
