// Uses aibox with the official client of the Model Context Protocol, as its documentation
// describes: over standard input and output, and over streamable HTTP.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const { MCP_PROGRAM, MCP_URL, MCP_TOKEN, MCP_READ_TOKEN } = process.env
const http = (token) =>
  new StreamableHTTPClientTransport(new URL(MCP_URL), { requestInit: { headers: { Authorization: `Bearer ${token}` } } })

// load returns what a URL has. It connects to this machine, whose resolver may not know the name.
const load = (url) =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: url.port, path: url.pathname + url.search, headers: { Host: url.host } }
    request(options, async (answer) => {
      let text = ''
      for await (const part of answer) text += part
      resolve(`${answer.statusCode} ${text}`)
    })
      .on('error', reject)
      .end()
  })

// connect connects a client. Its schemas check each answer.
const connect = async (transport) => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  const call = async (name, args = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args }, undefined, { timeout: 300_000 })
    const text = content.map((part) => part.text).join('\n')
    return { isError, text, facts: isError ? {} : JSON.parse(content[0].text.split('\n')[0]) }
  }
  const done = async (name, args) => {
    const answer = await call(name, args)
    assert.ok(!answer.isError, `${name}: ${answer.text}`)
    return answer
  }
  return { client, call, done }
}

const use = async (transport) => {
  const { client, call, done } = await connect(transport)
  const { tools } = await client.listTools()
  for (const tool of tools) {
    assert.ok(tool.description && tool.inputSchema.type === 'object' && tool.annotations, tool.name)
  }
  const names = tools.map((tool) => tool.name)
  assert.ok(['create_sandbox', 'run_code', 'read_file', 'run_agent', 'accept_changes'].every((name) => names.includes(name)), `${names}`)

  const { facts } = await done('create_sandbox', { name: 'by the SDK', timeout: '10m' })
  assert.equal(facts.network, 'none')
  const { sandbox } = facts
  await done('write_file', { sandbox, path: '/tmp/in.txt', content: 'six times seven\n' })
  const ran = await done('run_command', { sandbox, command: 'cat /tmp/in.txt; uname -v; exit 3' })
  assert.equal(ran.facts.exit_code, 3)
  assert.match(ran.text, /six times seven/)
  assert.match((await done('run_code', { sandbox, language: 'python', code: 'print(6 * 7)' })).text, /\n42\n/)
  assert.match((await done('read_file', { sandbox, path: '/tmp/in.txt' })).text, /six times seven/)
  assert.match((await done('list_files', { sandbox, path: '/tmp' })).text, /file 16 \/tmp\/in\.txt/)
  assert.ok((await call('read_file', { sandbox, path: '/no/such' })).isError)
  assert.ok((await call('run_command', { sandbox })).isError)
  assert.ok((await call('run_command', { sandbox, command: 'true', dir: 7 })).isError)
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), /unknown tool/)
  if (transport instanceof StreamableHTTPClientTransport) {
    await done('run_command', { sandbox, command: 'setsid python3 -m http.server 8000 --directory /tmp >/dev/null 2>&1 </dev/null & until python3 -c "import socket; socket.create_connection((\'127.0.0.1\', 8000))" 2>/dev/null; do :; done' })
    const { facts } = await done('open_port', { sandbox, port: 8000 })
    const url = new URL(facts.url)
    assert.equal(url.port, new URL(MCP_URL).port)
    url.pathname = '/in.txt'
    assert.equal(await load(url), '200 six times seven\n')
    url.search = '' // without the signature
    assert.match(await load(url), /^401 /)
  }
  await done('destroy_sandbox', { sandbox })
  assert.ok((await call('run_command', { sandbox, command: 'true' })).isError)
  await transport.terminateSession?.()
  await client.close()
  return names
}

const stdio = await use(new StdioClientTransport({ command: MCP_PROGRAM, args: ['mcp'], env: process.env, stderr: 'inherit' }))
assert.deepEqual(await use(http(MCP_TOKEN)), stdio)

const reader = await connect(http(MCP_READ_TOKEN))
assert.ok(!(await reader.call('list_sandboxes')).isError)
assert.match((await reader.call('create_sandbox')).text, /right/)
await reader.client.close()
await assert.rejects(connect(http('aibox_wrong')))
