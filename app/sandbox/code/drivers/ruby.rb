# Runs Ruby code for package code. See driver.go.
require "json"

results = [IO.for_fd(4, "wb", autoclose: false), IO.for_fd(5, "wb", autoclose: false)]
[input, *results].each { |io| io.close_on_exec = true }
results.each { |io| io.sync = true }
$stdout.sync = true
pid = Process.pid
count = 0

answer = lambda do |nonce, result|
  [$stdout, $stderr].each { |io| io.flush rescue nil }
  results[0].write("\0#{nonce}#{JSON.generate(result)}\0")
  results[1].write("\0#{nonce}\0")
end

start = lambda { |nonce| results.each { |io| io.write("\0#{nonce}\0") } }

run = lambda do |code|
  count += 1
  begin
    trap("INT", "DEFAULT")
    begin
      TOPLEVEL_BINDING.eval(code, "code#{count}.rb", 1)
    ensure
      trap("INT", "IGNORE")
    end
    {}
  rescue SystemExit => e
    { exit: e.status }
  rescue Exception => e
    e.set_backtrace((e.backtrace || []).take_while { |l| !l.start_with?("driver:") })
    text = e.full_message(highlight: false, order: :top).scrub
    $stderr.write(text) rescue nil
    { error: text[0, 1 << 16] }
  end
end

check = lambda do |code|
  begin
    RubyVM::InstructionSequence.compile(code, "code.rb")
  rescue SyntaxError => e
    at = e.message[/code\.rb:(\d+)/, 1]
    next { findings: [{ rule: "syntax", message: e.message.scrub[0, 500], line: at.to_i, column: 0 }] }
  end
  require "ripper"
  found = []
  rules = {
    "dynamic-code" => %w[eval instance_eval class_eval module_eval],
    "process" => %w[system exec spawn fork syscall],
    "network" => %w[TCPSocket UDPSocket TCPServer UNIXSocket Socket URI HTTP Net OpenURI],
    "native" => %w[Fiddle DL],
  }
  Ripper.lex(code).each do |(line, column), kind, text, _|
    rule = case kind
           when :on_backtick then "process"
           when :on_ident, :on_const then rules.find { |_, names| names.include?(text) }&.first
           end
    found << { rule: rule, message: "uses #{text}", line: line, column: column + 1 } if rule && found.size < 100
  end
  { findings: found }
end

trap("INT", "IGNORE")
loop do
  begin
    nonce, mode, size = line.().split
    code = exactly.(size.to_i).force_encoding("UTF-8")
  rescue EOFError
    exit!(0)
  end
  if mode == "check"
    answer.(nonce, check.(code))
    exit!(0)
  end
  start.(nonce) if mode == "keep"
  result = run.(code)
  exit!(result[:exit] || (result[:error] ? 1 : 0)) if Process.pid != pid
  answer.(nonce, result)
  exit(result[:exit] || (result[:error] ? 1 : 0)) if mode == "run"
end
