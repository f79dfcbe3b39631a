// Uses the package e2b as its documentation describes, and prints one line of JSON for each
// check: what was used, and the error if there was one.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import * as e2b from 'e2b'

const { Sandbox, Template, Volume } = e2b
let sandbox

// until waits until a condition holds.
const until = async (condition) => {
  for (const end = Date.now() + 30_000; !condition(); ) {
    assert.ok(Date.now() < end, 'nothing happened')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

// port calls a port of the sandbox. The host name need not be resolved.
const port = (headers, path = '/') =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(process.env.E2B_API_URL)
    const options = { hostname, port, path, headers: { Host: sandbox.getHost(3000), ...headers } }
    http.get(options, (answer) => {
      let text = ''
      answer.on('data', (piece) => (text += piece)).on('end', () => resolve([answer.statusCode, text]))
    }).on('error', reject)
  })

const works = [
  ['`Sandbox.create` with `timeoutMs`, `metadata`, `envs` and a network', async () => {
    const network = { allowOut: ['a.example'], denyOut: ({ allTraffic }) => [allTraffic] }
    sandbox = await Sandbox.create({ timeoutMs: 600_000, metadata: { job: '7 & 8' }, envs: { FOO: 'bar' }, network })
    assert.ok(await sandbox.isRunning())
  }],
  ['`Sandbox.list` with filters and pages', async () => {
    const found = await Sandbox.list({ query: { metadata: { job: '7 & 8' }, state: ['running'] }, limit: 1 }).nextItems()
    assert.deepEqual(found.map((s) => s.sandboxId), [sandbox.sandboxId])
    assert.deepEqual(await Sandbox.list({ query: { metadata: { job: '9' } } }).nextItems(), [])
  }],
  ['`Sandbox.connect`, `connect`', async () => {
    const again = await Sandbox.connect(sandbox.sandboxId)
    assert.equal((await again.commands.run('echo again')).stdout, 'again\n')
  }],
  ['`getInfo`', async () => {
    const info = await sandbox.getInfo()
    assert.equal(info.state, 'running')
    assert.deepEqual(info.network.allowOut, ['a.example'])
    assert.equal(info.allowInternetAccess, false)
  }],
  ['`setTimeout`', async () => {
    await sandbox.setTimeout(900_000)
    assert.ok((await sandbox.getInfo()).endAt - Date.now() > 800_000)
  }],
  ['`updateNetwork` with other lists', async () => {
    await sandbox.updateNetwork({ allowOut: ['b.example'] })
    assert.deepEqual((await sandbox.getInfo()).network.allowOut, ['b.example'])
  }],
  ['a package from a host of `network.allowOut`; other hosts are refused with the reason', async () => {
    const host = process.env.INDEX_HOST
    const envs = { PIP_INDEX_URL: `https://${host}/pip/`, PIP_CERT: '/home/user/ca.pem', PIP_RETRIES: '1' }
    for (const allowed of [host, 'a.example']) {
      const box = await Sandbox.create({ timeoutMs: 1_800_000, envs, network: { allowOut: [allowed] } })
      await box.files.write('ca.pem', process.env.INDEX_CA)
      const installed = box.commands.run('pip install --disable-pip-version-check --user small && python3 -m small', { timeoutMs: 1_200_000 })
      if (allowed === host) {
        assert.match((await installed).stdout, /small from pip/)
      } else {
        await assert.rejects(installed, (e) => e instanceof e2b.CommandExitError && e.stderr.includes('403'))
        assert.match((await box.commands.run(`curl -sS http://${host}/hello`)).stdout, /no entry of the allow list names this host/)
      }
      await box.kill()
    }
  }],
  ['`getMetrics`: only the current values', async () => assert.ok((await sandbox.getMetrics())[0].memUsed > 0)],
  ['`commands.run` with `cwd`, `envs`, `onStdout` and `onStderr`', async () => {
    let heard = ''
    const result = await sandbox.commands.run('echo $FOO $X; pwd; id -un; echo e >&2', { cwd: '/tmp', envs: { X: '1' }, onStdout: (s) => { heard += s } })
    assert.deepEqual([result.stdout, result.stderr, result.exitCode], ['bar 1\n/tmp\nuser\n', 'e\n', 0])
    assert.equal(heard, result.stdout)
  }],
  ["`commands.run` with `user: 'root'`", async () => assert.equal((await sandbox.commands.run('id -u', { user: 'root' })).stdout, '0\n')],
  ['`commands.run` of a command that fails: `CommandExitError`', async () => {
    await assert.rejects(sandbox.commands.run('exit 3'), (e) => e instanceof e2b.CommandExitError && e.exitCode === 3)
  }],
  ['`commands.run` with `timeoutMs`: `TimeoutError`, and the command ends', async () => {
    await assert.rejects(sandbox.commands.run('sleep 1234', { timeoutMs: 1000 }), e2b.TimeoutError)
    for (let found = 1; found; ) found = (await sandbox.commands.list()).filter((p) => p.args.join().includes('1234')).length
  }],
  ['`commands.run` in the background, `sendStdin`, `closeStdin`, `list`, `wait`', async () => {
    const handle = await sandbox.commands.run('cat; echo end', { background: true, stdin: true })
    await handle.sendStdin('text\n')
    assert.ok((await sandbox.commands.list()).some((p) => p.pid === handle.pid))
    await handle.closeStdin()
    assert.equal((await handle.wait()).stdout, 'text\nend\n')
  }],
  ['`commands.connect`, `disconnect`, `kill`', async () => {
    const first = await sandbox.commands.run('sleep 1000', { background: true })
    await first.disconnect()
    const second = await sandbox.commands.connect(first.pid)
    assert.equal(await second.kill(), true)
    await assert.rejects(second.wait(), e2b.CommandExitError)
    assert.equal(await sandbox.commands.kill(first.pid), false)
  }],
  ['`commands.run` with 20 MB of output, read slowly', async () => {
    let size = 0, pauses = 0
    const slow = async (s) => { size += s.length; if (pauses++ < 50) await new Promise((resolve) => setTimeout(resolve, 20)) }
    await sandbox.commands.run("head -c 20000000 /dev/zero | tr '\\0' x", { onStdout: slow, timeoutMs: 120_000 })
    assert.equal(size, 20_000_000)
  }],
  ['`pty.create`, `sendInput`, `resize`, `kill`', async () => {
    let screen = ''
    const handle = await sandbox.pty.create({ cols: 80, rows: 24, onData: (d) => { screen += new TextDecoder().decode(d) } })
    await sandbox.pty.resize(handle.pid, { cols: 100, rows: 30 })
    await sandbox.pty.sendInput(handle.pid, new TextEncoder().encode('stty size\n'))
    await until(() => screen.includes('30 100'))
    assert.equal(await sandbox.pty.kill(handle.pid), true)
  }],
  ['`files.write` and `files.read` as text, bytes, stream and gzip', async () => {
    assert.equal((await sandbox.files.write('d/f.txt', 'content')).path, '/home/user/d/f.txt')
    assert.equal(await sandbox.files.read('/home/user/d/f.txt'), 'content')
    await sandbox.files.write([{ path: 'a', data: 'A' }, { path: '/tmp/b', data: '' }])
    assert.equal((await sandbox.files.read('/tmp/b', { format: 'bytes' })).length, 0)
    const large = randomBytes(64_000_000)
    const digest = createHash('sha256').update(large).digest('hex')
    await sandbox.files.write('large', new Blob([large]).stream())
    const read = createHash('sha256')
    for await (const piece of await sandbox.files.read('large', { format: 'stream' })) read.update(piece)
    assert.equal(read.digest('hex'), digest)
    assert.equal((await sandbox.commands.run('sha256sum large && rm large')).stdout, `${digest}  large\n`)
    await sandbox.files.write('z', 'packed', { gzip: true })
    assert.equal(await sandbox.files.read('z'), 'packed')
  }],
  ['`files.list`, `getInfo`, `exists`, `makeDir`, `rename`, `remove`', async () => {
    assert.deepEqual([await sandbox.files.makeDir('l/m'), await sandbox.files.makeDir('l/m')], [true, false])
    await sandbox.files.write('l/f', 'x')
    assert.deepEqual((await sandbox.files.list('l')).map((e) => [e.name, e.type, e.owner]), [['f', 'file', 'user'], ['m', 'dir', 'user']])
    assert.equal((await sandbox.files.rename('l/f', 'l/new/g')).path, '/home/user/l/new/g')
    assert.deepEqual([(await sandbox.files.getInfo('l/new/g')).permissions, await sandbox.files.exists('l/f')], ['-rw-r--r--', false])
    await sandbox.files.remove('l')
    assert.equal(await sandbox.files.exists('l'), false)
  }],
  ['`files.watchDir`, recursive and with entries', async () => {
    await sandbox.files.makeDir('w/sub')
    const events = []
    const watch = await sandbox.files.watchDir('w', (e) => { events.push(e) }, { recursive: true, includeEntry: true })
    await sandbox.files.write('w/sub/f', 'four')
    await until(() => events.some((e) => e.name === 'sub/f' && e.entry?.size === 4))
    await sandbox.files.remove('w/sub/f')
    await until(() => events.some((e) => e.type === 'remove' && e.name === 'sub/f'))
    await watch.stop()
  }],
  ['`downloadUrl` and `uploadUrl`', async () => {
    await fetch(await sandbox.uploadUrl('u'), { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: 'by URL' })
    const url = await sandbox.downloadUrl('u', { useSignatureExpiration: 60 })
    assert.equal(await (await fetch(url)).text(), 'by URL')
    assert.equal((await fetch(url.replace('path=u', 'path=z'))).status, 401)
  }],
  ['a file that is missing: `FileNotFoundError`', () => assert.rejects(sandbox.files.read('missing'), e2b.FileNotFoundError)],
  ['a folder that is read as a file: `InvalidArgumentError`', () => assert.rejects(sandbox.files.read('/tmp'), e2b.InvalidArgumentError)],
  ['`pause`, and `connect` to resume', async () => {
    assert.deepEqual([await sandbox.pause(), await sandbox.pause()], [true, false])
    assert.equal((await sandbox.getInfo()).state, 'paused')
    await sandbox.connect()
    assert.equal((await sandbox.commands.run('cat u')).stdout, 'by URL')
  }],
  ['`Volume.create`, `list`, `getInfo`, `destroy`', async () => {
    const volume = await Volume.create('e2b-' + process.pid)
    assert.ok((await Volume.list()).some((v) => v.volumeId === volume.volumeId))
    assert.equal((await Volume.getInfo(volume.volumeId)).name, volume.name)
    assert.deepEqual([await Volume.destroy(volume.volumeId), await Volume.destroy(volume.volumeId)], [true, false])
  }],
  ['a wrong API key: `AuthenticationError`', () => assert.rejects(Sandbox.create({ apiKey: 'wrong' }), e2b.AuthenticationError)],
  ['`getHost`, with `trafficAccessToken` in the header `e2b-traffic-access-token`', async () => {
    await sandbox.commands.run('python3 -m http.server 3000', { background: true, cwd: '/etc' })
    const token = { 'e2b-traffic-access-token': sandbox.trafficAccessToken }
    for (let status = 0; status !== 200; ) [status] = await port(token)
    assert.equal((await port(token, '/hostname'))[0], 200)
    assert.notEqual((await port({}, '/hostname'))[0], 200)
    assert.notEqual((await port({ 'e2b-traffic-access-token': sandbox.envdAccessToken ?? 'x' }, '/hostname'))[0], 200)
  }],
  ['`createSnapshot`, `Sandbox.create` from it, `Sandbox.listSnapshots`, `Sandbox.deleteSnapshot`', async () => {
    await sandbox.files.write('/tmp/stored', 'x')
    await sandbox.commands.run('while :; do date +%s%N >/tmp/beat; sleep 0.1; done', { background: true })
    while (!(await sandbox.files.exists('/tmp/beat')));
    const taken = await sandbox.createSnapshot({ name: 'mine' })
    assert.deepEqual(taken.names, ['mine'])
    assert.deepEqual((await Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId }).nextItems()).map((s) => s.snapshotId), [taken.snapshotId])
    const copy = await Sandbox.create(taken.snapshotId, { timeoutMs: 60_000 })
    assert.equal(await copy.files.read('/tmp/stored'), 'x')
    const beat = await copy.files.read('/tmp/beat')
    for (let now = beat; now === beat || !now; ) now = await copy.files.read('/tmp/beat')
    await copy.files.write('/tmp/stored', 'y')
    assert.equal(await sandbox.files.read('/tmp/stored'), 'x')
    await copy.kill()
    assert.deepEqual([await Sandbox.deleteSnapshot(taken.snapshotId), await Sandbox.deleteSnapshot(taken.snapshotId)], [true, false])
  }],
  ['`fork` with `count` and `timeoutMs`', async () => {
    const forks = await sandbox.fork({ count: 2, timeoutMs: 60_000 })
    for (const fork of forks) {
      assert.ok(fork instanceof Sandbox, fork)
      assert.equal((await fork.commands.run('cat /tmp/stored')).stdout, 'x')
      await fork.kill()
    }
    assert.equal(forks.length, 2)
    assert.deepEqual(await Sandbox.listSnapshots().nextItems(), [])
  }],
  ['`kill`, and a sandbox that is gone: `SandboxNotFoundError`', async () => {
    const events = sandbox.commands.run('sleep 1000')
    events.catch(() => {})
    assert.deepEqual([await sandbox.kill(), await sandbox.kill(), await sandbox.isRunning()], [true, false, false])
    await assert.rejects(events, e2b.SandboxError)
    await assert.rejects(sandbox.commands.run('true'), e2b.SandboxNotFoundError)
    await assert.rejects(Sandbox.connect(sandbox.sandboxId), e2b.SandboxNotFoundError)
    await assert.rejects(Sandbox.getInfo('no-such-sandbox'), e2b.SandboxNotFoundError)
  }],
]

// refused is what aibox does not have: the package reports an error with the reason.
const refused = [
  ['`Sandbox.create` with `mcp`', () => Sandbox.create({ mcp: { x: {} }, template: 'base' })],
  ['`Sandbox.create` with `iam`', () => Sandbox.create({ iam: { tokens: { t: { audience: 'a', tokenType: 'JWT-SVID' } } } })],
  ['`Sandbox.create` with `network.rules`', () => Sandbox.create({ network: { rules: { 'a.example': [{ transform: { headers: { A: 'b' } } }] } } })],
  ['`Sandbox.create` with `network.egressProxy`', () => Sandbox.create({ network: { egressProxy: { address: 'a.example:1' } } })],
  ['`Sandbox.create` with `network.allowPublicTraffic: true`', () => Sandbox.create({ network: { allowPublicTraffic: true } })],
  ['`Sandbox.create` with `network.maskRequestHost`', () => Sandbox.create({ network: { maskRequestHost: 'x' } })],
  ['`Sandbox.create` with `network.httpsPorts`', () => Sandbox.create({ network: { httpsPorts: [3000] } })],
  ['`Sandbox.create` with `lifecycle.autoResume`', () => Sandbox.create({ lifecycle: { onTimeout: 'pause', autoResume: true } })],
  ['`pause` with `keepMemory: false`', () => sandbox.pause({ keepMemory: false })],
  ['`updateNetwork` to every host', () => sandbox.updateNetwork({ allowInternetAccess: true })],
  ['`files.write` with `metadata`', () => sandbox.files.write('x', 'x', { metadata: { a: 'b' } })],
  ['`Template.build`', () => Template.build(Template().fromImage('x'), 'mine')],
  ['`Secret.list`', () => e2b.Secret.list().nextItems()],
]

const report = (what, error) => console.log(JSON.stringify({ what, error }))
const check = async ([what, use], expected) => {
  try {
    await use()
    report(what, expected ? 'no error' : undefined)
  } catch (e) {
    report(what, expected && e instanceof Error && e.name.endsWith('Error') && e2b[e.name] ? `\`${e.name}\`: ${e.message}` : e.stack)
  }
}
const [last] = works.slice(-1)
for (const w of works.slice(0, -1)) await check(w, false)
for (const r of refused) await check(r, true)
await check(last, false)
process.exit(0)
