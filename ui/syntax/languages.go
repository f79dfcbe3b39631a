package syntax

import (
	"strings"
	"sync"
)

// longestWord is the length of the longest word in the tables.
const longestWord = 32

// words makes the word table of a language.
func words(keywords, types string) map[string]Class {
	all := map[string]Class{}
	for _, word := range strings.Fields(keywords) {
		all[word] = Keyword
	}
	for _, word := range strings.Fields(types) {
		all[word] = Type
	}
	for _, word := range []string{"true", "false", "null", "nil", "None", "True", "False", "undefined", "nullptr", "NULL", "iota"} {
		if _, ok := all[word]; ok {
			all[word] = Number
		}
	}
	return all
}

// Parts that many languages share.
var (
	slashes = []string{"//"}
	hashes  = []string{"#"}
	starred = [2]string{"/*", "*/"}
	double  = quote{begin: `"`, end: `"`}
	single  = quote{begin: `'`, end: `'`}
	plain   = []quote{double, single}
)

const cWords = "auto break case const continue default do else enum extern for goto if inline register restrict return sizeof static struct switch typedef union volatile while NULL true false"

const cTypes = "bool char double float int int8_t int16_t int32_t int64_t long short signed size_t ssize_t uint8_t uint16_t uint32_t uint64_t uintptr_t unsigned void FILE"

const jsWords = "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace new null of override package private protected public readonly return satisfies set static super switch this throw true try type typeof undefined var void while with yield"

// known returns the languages, each with the endings of its files, their whole names (with
// a slash before), and the programs that "#!" names (with a ! before).
func known() []struct {
	files string
	language
} {
	return []struct {
		files string
		language
	}{
		{"go", language{name: "Go", line: slashes, block: starred, quotes: []quote{double, {"`", "`", true, true}}, char: true, words: words("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota", "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr")}},
		{"c h", language{name: "C", line: slashes, block: starred, quotes: []quote{double}, char: true, hash: true, words: words(cWords, cTypes)}},
		{"cc cpp cxx hpp hh hxx ino cu", language{name: "C++", line: slashes, block: starred, quotes: []quote{double}, char: true, hash: true, words: words(cWords+" alignas alignof and catch class co_await co_return co_yield concept consteval constexpr constinit const_cast decltype delete dynamic_cast explicit export final friend mutable namespace new noexcept not nullptr operator or override private protected public reinterpret_cast requires static_assert static_cast template this throw try typename using virtual", cTypes+" auto string wchar_t")}},
		{"java", language{name: "Java", line: slashes, block: starred, quotes: []quote{{`"""`, `"""`, true, false}, double}, char: true, capitals: true, words: words("abstract assert break case catch class const continue default do else enum extends final finally for goto if implements import instanceof interface native new null package private protected public record return sealed static super switch synchronized this throw throws transient true false try var void volatile while yield", "boolean byte char double float int long short")}},
		{"kt kts", language{name: "Kotlin", line: slashes, block: starred, quotes: []quote{{`"""`, `"""`, true, true}, double}, char: true, capitals: true, words: words("abstract as break by catch class companion const constructor continue crossinline data do else enum expect false final finally for fun if import in infix init inline inner interface internal is lateinit null object open operator out override package private protected public reified return sealed suspend super tailrec this throw true try typealias val var vararg when where while", "")}},
		{"scala sc", language{name: "Scala", line: slashes, block: starred, quotes: []quote{{`"""`, `"""`, true, true}, double}, char: true, capitals: true, words: words("abstract case catch class def do else enum export extends extension false final finally for given if implicit import lazy match new null object override package private protected return sealed super then this throw trait true try type using val var while with yield", "")}},
		{"swift", language{name: "Swift", line: slashes, block: starred, quotes: []quote{{`"""`, `"""`, true, false}, double}, capitals: true, words: words("actor as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate for func guard if import in init inout internal is lazy let mutating nil open operator override private protocol public repeat rethrows return self static struct subscript super switch throw throws true try typealias var weak where while", "")}},
		{"cs", language{name: "C#", line: slashes, block: starred, quotes: []quote{{`"""`, `"""`, true, true}, {`@"`, `"`, true, true}, double}, char: true, hash: true, capitals: true, words: words("abstract as async await base break case catch checked class const continue default delegate do else enum event explicit extern false finally fixed for foreach get goto if implicit in init interface internal is lock namespace new null operator out override params private protected public readonly record ref return sealed set sizeof static struct switch this throw true try typeof unchecked unsafe using var virtual void volatile when where while yield", "bool byte char decimal double dynamic float int long object sbyte short string uint ulong ushort")}},
		{"js mjs cjs jsx !node", language{name: "JavaScript", line: slashes, block: starred, quotes: []quote{double, single, {"`", "`", true, false}}, letters: "$", capitals: true, words: words(jsWords, "")}},
		{"ts tsx mts cts !deno !bun", language{name: "TypeScript", line: slashes, block: starred, quotes: []quote{double, single, {"`", "`", true, false}}, letters: "$", capitals: true, words: words(jsWords, "any bigint boolean never number object string symbol unknown")}},
		{"py pyi pyw bzl /build /workspace /sconstruct !python", language{name: "Python", line: hashes, quotes: []quote{{`"""`, `"""`, true, false}, {`'''`, `'''`, true, false}, double, single}, letters: "@", capitals: true, words: words("and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try type while with yield self", "bool bytes dict float frozenset int list object set str tuple")}},
		{"rb rake gemspec /gemfile /rakefile /vagrantfile !ruby", language{name: "Ruby", line: hashes, quotes: plain, letters: "@$?!", capitals: true, words: words("alias and begin break case class def defined? do else elsif end ensure false for if in module next nil not or private protected public raise redo require require_relative rescue retry return self super then true undef unless until when while yield attr_accessor attr_reader", "")}},
		{"rs", language{name: "Rust", line: slashes, block: starred, quotes: []quote{{`r##"`, `"##`, true, true}, {`r#"`, `"#`, true, true}, {`r"`, `"`, true, true}, {`"`, `"`, true, false}}, char: true, letters: "!", capitals: true, words: words("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while", "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize")}},
		{"php !php", language{name: "PHP", line: []string{"//", "#"}, block: starred, quotes: []quote{{`"`, `"`, true, false}, {`'`, `'`, true, false}}, letters: "$", capitals: true, words: words("abstract and array as break callable case catch class clone const continue declare default do echo else elseif empty enum extends false final finally fn for foreach function global if implements include include_once instanceof interface isset list match namespace new null or private protected public readonly require require_once return static switch throw trait true try unset use var while yield", "bool float int iterable mixed never object string void")}},
		{"sh bash zsh ksh fish bats envrc bashrc profile zshrc !sh !bash !zsh !dash !ksh", language{name: "shell", line: hashes, quotes: []quote{double, {`'`, `'`, false, true}}, apart: true, letters: "$-", words: words("alias break case cd continue declare do done echo elif else esac eval exec exit export false fi for function if in local printf read readonly return select set shift source test then trap true type typeset ulimit umask unset until while", "")}},
		{"ps1 psm1", language{name: "PowerShell", line: hashes, block: [2]string{"<#", "#>"}, quotes: plain, letters: "$-", anyCase: true, words: words("begin break catch class continue do else elseif end exit finally for foreach function if in param process return switch throw trap try until using while", "")}},
		{"bat cmd", language{name: "batch file", line: []string{"::", "rem ", "REM "}, quotes: []quote{double}, letters: "%@", anyCase: true, words: words("call cd copy del echo else endlocal exist exit for goto if in not pause set setlocal start", "")}},
		{"pl pm t !perl", language{name: "Perl", line: hashes, quotes: plain, letters: "$@%", words: words("and chomp close defined delete die do each else elsif eval exists foreach for if keys last local my next no open or our package print printf push redo ref require return shift sort split sub undef unless until use values while", "")}},
		{"lua !lua", language{name: "Lua", line: []string{"--"}, block: [2]string{"--[[", "]]"}, quotes: plain, words: words("and break do else elseif end false for function goto if in local nil not or repeat return then true until while", "")}},
		{"sql", language{name: "SQL", line: []string{"--"}, block: starred, quotes: []quote{{`'`, `'`, true, true}, double, {"`", "`", false, true}}, anyCase: true, words: words("add all alter and any as asc begin between by case cast check column commit constraint create cross database default delete desc distinct drop else end exists false foreign from full function grant group having if in index inner insert into is join key left like limit not null offset on or order outer over primary procedure references replace returning revoke right rollback select set table then to transaction trigger true truncate union unique update using values view when where with", "bigint blob boolean char date decimal double float int integer json jsonb numeric real serial smallint text time timestamp uuid varchar")}},
		{"json jsonc json5 webmanifest ipynb geojson", language{name: "JSON", line: slashes, block: starred, quotes: plain, keys: ":", words: words("true false null", "")}},
		{"yaml yml", language{name: "YAML", line: hashes, quotes: plain, apart: true, letters: "-./$&*", keys: ":", words: words("true false null yes no on off", "")}},
		{"toml", language{name: "TOML", line: hashes, quotes: []quote{{`"""`, `"""`, true, false}, {`'''`, `'''`, true, true}, double, {`'`, `'`, false, true}}, letters: "-.", keys: "=", words: words("true false", "")}},
		{"ini cfg conf properties env editorconfig gitconfig gitmodules npmrc service socket timer desktop", language{name: "settings", line: []string{"#", ";"}, quotes: []quote{double}, apart: true, letters: "-./", keys: "=", words: words("true false yes no on off", "")}},
		{"html htm xml svg xhtml vue svelte xsl xsd plist csproj props targets pom", language{name: "markup", kind: markup, block: [2]string{"<!--", "-->"}}},
		{"css scss sass less", language{name: "CSS", line: slashes, block: starred, quotes: plain, letters: "-@#$.", keys: ":", words: words("@media @import @include @mixin @use @keyframes @supports @font-face @layer @extend important", "")}},
		{"md markdown mdx", language{name: "Markdown", kind: prose}},
		{"dockerfile containerfile /dockerfile /containerfile", language{name: "Dockerfile", line: hashes, quotes: plain, apart: true, letters: "$-", words: words("ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR", "")}},
		{"mk mak make /makefile /gnumakefile /justfile !make", language{name: "Makefile", line: hashes, quotes: plain, apart: true, letters: "$-.", words: words("define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath .PHONY .DEFAULT .SUFFIXES", "")}},
		{"cmake /cmakelists.txt", language{name: "CMake", line: hashes, quotes: []quote{double}, anyCase: true, words: words("else elseif endforeach endfunction endif endmacro endwhile foreach function if include macro option project return set unset while", "")}},
		{"tf tfvars hcl nomad", language{name: "HCL", line: []string{"#", "//"}, block: starred, quotes: []quote{double}, letters: "-", keys: "=", words: words("data dynamic false for for_each if in locals module null output provider resource terraform true variable", "any bool list map number object set string")}},
		{"proto", language{name: "protobuf", line: slashes, block: starred, quotes: plain, words: words("enum extend extensions false import map message oneof option optional package public repeated required reserved returns rpc service stream syntax to true weak", "bool bytes double fixed32 fixed64 float int32 int64 sfixed32 sfixed64 sint32 sint64 string uint32 uint64")}},
		{"graphql gql", language{name: "GraphQL", line: hashes, quotes: []quote{{`"""`, `"""`, true, true}, double}, letters: "$@", words: words("directive enum extend false fragment implements input interface mutation null on query scalar schema subscription true type union", "Boolean Float ID Int String")}},
		{"hs lhs", language{name: "Haskell", line: []string{"--"}, block: [2]string{"{-", "-}"}, quotes: []quote{double}, char: true, capitals: true, words: words("as case class data default deriving do else forall foreign hiding if import in infix infixl infixr instance let module newtype of qualified then type where", "")}},
		{"ml mli fs fsi fsx", language{name: "ML", line: slashes, block: [2]string{"(*", "*)"}, quotes: []quote{double}, char: true, capitals: true, words: words("and as assert begin class done do downto else end exception false for fun function functor if in include inherit initializer lazy let match method module mutable new object of open or private rec sig struct then to true try type val virtual when while with", "bool char float int list option string unit")}},
		{"ex exs", language{name: "Elixir", line: hashes, quotes: []quote{{`"""`, `"""`, true, false}, double, single}, letters: "@?!", capitals: true, words: words("after alias and case catch cond def defimpl defmacro defmodule defp defprotocol defstruct do else end false fn for if import in nil not or quote raise receive require rescue true try unless unquote use when with", "")}},
		{"erl hrl", language{name: "Erlang", line: []string{"%"}, quotes: plain, capitals: true, words: words("after and begin case catch end fun if of or receive try when", "")}},
		{"clj cljs cljc edn lisp el scm rkt", language{name: "Lisp", line: []string{";"}, quotes: []quote{{`"`, `"`, true, false}}, letters: "-*?!<>=+:", words: words("and case cond def define defmacro defn defun do false fn if import lambda let let* letfn loop nil ns or quote recur require set! true unless when", "")}},
		{"zig", language{name: "Zig", line: slashes, quotes: []quote{double}, char: true, letters: "@", capitals: true, words: words("and break catch comptime const continue defer else enum errdefer error export extern false fn for if inline null or orelse packed pub return struct switch test threadlocal true try undefined union unreachable usingnamespace var volatile while", "anytype bool f32 f64 i8 i16 i32 i64 isize type u8 u16 u32 u64 usize void")}},
		{"nix", language{name: "Nix", line: hashes, block: starred, quotes: []quote{{`''`, `''`, true, true}, {`"`, `"`, true, false}}, letters: "-", keys: "=", words: words("assert else false if import in inherit let null or rec then true with", "")}},
		{"dart", language{name: "Dart", line: slashes, block: starred, quotes: []quote{{`"""`, `"""`, true, false}, {`'''`, `'''`, true, false}, double, single}, letters: "$@", capitals: true, words: words("abstract as assert async await break case catch class const continue default do else enum export extends extension external factory false final finally for get if implements import in is late library mixin new null on operator part required return set static super switch sync this throw true try typedef var void while with yield", "bool double dynamic int num")}},
		{"r", language{name: "R", line: hashes, quotes: plain, letters: ".", words: words("break else FALSE for function if in library next NULL repeat return TRUE while NA", "")}},
		{"jl", language{name: "Julia", line: hashes, block: [2]string{"#=", "=#"}, quotes: []quote{{`"""`, `"""`, true, false}, double}, char: true, letters: "!@", capitals: true, words: words("abstract begin break catch const continue do else elseif end export false finally for function global if import in let local macro module mutable nothing primitive quote return struct true try type using where while", "")}},
		{"vim", language{name: "Vim script", line: []string{`"`}, quotes: []quote{single}, letters: ":#", words: words("augroup autocmd call catch echo else elseif endfor endfunction endif endtry endwhile finally for function if let map nnoremap return set throw try while", "")}},
	}
}

// language lets the table name its fields without the type's name.
type language = Language

// tables hold the languages by file name, by the ending of a file name and by program.
type tables struct{ files, endings, programs map[string]*Language }

// all are the tables. They are made when the first file is shown: most commands show
// none.
var all = sync.OnceValue(func() tables {
	t := tables{map[string]*Language{}, map[string]*Language{}, map[string]*Language{}}
	languages := known()
	for i := range languages {
		l := &languages[i].language
		l.prepare()
		for _, name := range strings.Fields(languages[i].files) {
			switch name[0] {
			case '/':
				t.files[name[1:]] = l
			case '!':
				t.programs[name[1:]] = l
			default:
				t.endings[name] = l
			}
		}
	}
	return t
})
