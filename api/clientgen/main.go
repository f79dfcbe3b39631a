// Command clientgen generates the parts of the clients in clients/ that follow from the
// schema, and the reference in docs/api. It is a plugin of protoc and buf: `make api` runs
// it in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/pluginpb"
)

const pythonPackage = "clients/python/aibox"

func main() {
	protogen.Options{}.Run(func(plugin *protogen.Plugin) error {
		plugin.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		files := schemaFiles(plugin)
		write(plugin, pythonPackage+"/schema.py", pythonSchema(files))
		write(plugin, pythonPackage+"/_async/services.py", pythonServices(files))
		write(plugin, "clients/typescript/src/schema.ts", typescriptSchema(files))
		write(plugin, "clients/typescript/src/services.ts", typescriptServices(files))
		write(plugin, "docs/api/reference.md", reference(files))
		return writeSyncClient(plugin, pythonServices(files))
	})
}

// schemaFiles returns the files of the package aibox.v1.
func schemaFiles(plugin *protogen.Plugin) []*protogen.File {
	return slices.DeleteFunc(slices.Clone(plugin.Files), func(file *protogen.File) bool {
		return !file.Generate || file.Desc.Package() != "aibox.v1"
	})
}

func write(plugin *protogen.Plugin, name, content string) {
	fmt.Fprint(plugin.NewGeneratedFile(name, ""), content)
}

// writeSyncClient writes the synchronous Python client, made from the asynchronous one.
func writeSyncClient(plugin *protogen.Plugin, services string) error {
	sources, err := asyncSources(".")
	if err != nil {
		return err
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if filepath.Base(source) == "services.py" {
			continue
		}
		write(plugin, pythonPackage+"/_sync/"+filepath.Base(source), synchronous(string(text)))
	}
	write(plugin, pythonPackage+"/_sync/services.py", synchronous(services))
	return nil
}
