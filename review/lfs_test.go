package review

import (
	"strings"
	"testing"
)

func TestAPointerOfGitLFSIsRead(t *testing.T) {
	oid := strings.Repeat("0a", 32)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 12345\n"
	if got, size, ok := parsePointer([]byte(pointer)); !ok || got != oid || size != 12345 {
		t.Errorf("%s, %d, %v", got, size, ok)
	}
	for _, content := range []string{
		"", "text\n", "version https://git-lfs.github.com/spec/v1\n", strings.Replace(pointer, "0a", "zz", 1),
		strings.Replace(pointer, "size ", "size -", 1), pointer + strings.Repeat("x", 2000),
	} {
		if _, _, ok := parsePointer([]byte(content)); ok {
			t.Errorf("%q is a pointer", content)
		}
	}
}

func FuzzPointer(f *testing.F) {
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0a", 32) + "\nsize 1\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if oid, size, ok := parsePointer(content); ok && (len(oid) != 64 || size < 0) {
			t.Errorf("%q, %d", oid, size)
		}
	})
}
