package aiboxv1

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

var update = flag.Bool("update", false, "write the digest of the schema and the generated files")

// digest returns a digest of the schema, of how code is generated, and of that code.
func digest(t *testing.T, root string) string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		suffixes := []string{".proto", ".yaml", ".pb.go", ".connect.go", "generate/go.mod"}
		if err == nil && !entry.IsDir() && slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) }) {
			files = append(files, path)
		}
		return err
	})
	clients, _ := filepath.Glob(root + "/clientgen/*.go")
	files = slices.Concat(files, clients, []string{
		root + "/../docs/api/reference.md", root + "/../clients/python/aibox/schema.py", root + "/../clients/python/aibox/_async/services.py",
		root + "/../clients/typescript/src/schema.ts", root + "/../clients/typescript/src/services.ts",
	})
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%s %x\n", strings.TrimPrefix(path, root), sha256.Sum256(content))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Generating everything again takes minutes on a machine that has never done it. So the
// generator stores a digest, which no longer matches if either side changes.
func TestGeneratedFilesAreThoseWrittenFromTheSchema(t *testing.T) {
	const file = "../../generate/digest"
	got := digest(t, "../..")
	if *update {
		if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(want)) != got {
		t.Errorf("the schema or a generated file has changed (%v): run `make api`", err)
	}
}

func TestEveryMethodHasARight(t *testing.T) {
	methods := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("aibox.v1", func(file protoreflect.FileDescriptor) bool {
		for s := range file.Services().Len() {
			service := file.Services().Get(s)
			for m := range service.Methods().Len() {
				method := service.Methods().Get(m)
				methods++
				if right, _ := proto.GetExtension(method.Options(), E_Right).(Right); right == Right_RIGHT_UNSPECIFIED {
					t.Errorf("%s has no right", method.FullName())
				}
			}
		}
		return true
	})
	if methods < 40 {
		t.Errorf("only %d methods were found", methods)
	}
}
