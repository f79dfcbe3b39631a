package risk

import (
	"strings"
	"testing"
)

func TestAPointerOfGitLFSIsRead(t *testing.T) {
	oid := strings.Repeat("0a", 32)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 12345\n"
	if got, size, ok := Pointer([]byte(pointer)); !ok || got != oid || size != 12345 {
		t.Errorf("%s, %d, %v", got, size, ok)
	}
	for _, text := range []string{ // which git-lfs 3.3 stores unchanged
		strings.ReplaceAll(pointer, "\n", "\r\n"), "\n\n  " + pointer + "\n" + strings.Repeat(" ", 800), strings.ReplaceAll(pointer, "\n", "\n\n"),
		strings.Replace(pointer, "git-lfs.github", "hawser.github", 1), strings.Replace(pointer, "oid", "ext-0-foo sha256:"+oid+"\noid", 1),
		strings.Replace(pointer, "https://git-lfs.github.com/spec/v1", "http://git-media.io/v/2", 1),
	} {
		if got, size, ok := Pointer([]byte(text)); !ok || got != oid || size != 12345 {
			t.Errorf("%q: %s, %d, %v", text, got, size, ok)
		}
	}
	for _, content := range []string{
		"", "text\n", "version https://git-lfs.github.com/spec/v1\n", strings.Replace(pointer, "0a", "zz", 1),
		strings.Replace(pointer, "size ", "size -", 1), pointer + strings.Repeat("x", 2000),
	} {
		if _, _, ok := Pointer([]byte(content)); ok {
			t.Errorf("%q is a pointer", content)
		}
	}
}

func FuzzPointer(f *testing.F) {
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0a", 32) + "\nsize 1\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if oid, size, ok := Pointer(content); ok && (len(oid) != 64 || size < 0) {
			t.Errorf("%q, %d", oid, size)
		}
	})
}
