"""Programs about autograd that PyTorch and this framework must agree on.

In a block, programs are separated by blank lines. The last line of one is an expression, or a statement after an
exclamation mark; in the second table it raises, with the text that follows `raises`. Names: F is the library, A its
autograd, G its `autograd.grad`, t its `tensor`, a and b vectors and m a matrix that require grad, log an empty list,
C `utils.checkpoint.checkpoint`.
"""

VALUES = {
    "API, hooks, nodes": """
(a*b).sum().backward()
a.grad, b.grad, a.grad.requires_grad

(a*a).sum().backward(); g=a.grad
(a*a).sum().backward()
a.grad is g, g

y=(a*a).sum(); y.backward(create_graph=True); g=a.grad
y=(a*a).sum(); y.backward(create_graph=True)
a.grad is g, a.grad, a.grad.requires_grad

G((a*a).sum(), (a,b), allow_unused=True)

G((a*a).sum(), (a,b), materialize_grads=True)

y=a*2; z=(y*b).sum(); z.backward(inputs=[y, b])
a.grad, y.grad, b.grad

y=a*2; z=(y*b).sum(); z.backward(inputs=y)
a.grad, y.grad, b.grad

y=a*2; z=(y*b).sum(); z.backward(inputs=[y,a])
a.grad, y.grad, b.grad

G((a*b).sum(), {'x':a,'y':b})

y=a*b
G([y.sum(), (y*y).sum()], [a,b])

y=a*b
G([y, y*y], [a,b], [F.ones(3), F.ones(3)*2])

y=a*b
G([y, (y*y).sum()], [a,b], [F.ones(3), None])

y=a*a
G(y, a, F.eye(3), is_grads_batched=True)

y=(a*a).sum(); y.backward(retain_graph=True); y.backward()
a.grad

g,=G((a*a*a).sum(), a, create_graph=True)
G(g.sum(), a)

a.grad=F.ones(3); (a*1).sum().backward()
a.grad

x=F.tensor([1,2]); x.requires_grad=False
x.requires_grad

y=a*1
y.requires_grad_().requires_grad

a.grad_fn, a.is_leaf, a.requires_grad, a.output_nr, a._version, a._base is None, a.retains_grad

y=a*2
y.grad_fn.name(), y.is_leaf, y.requires_grad, y.output_nr, y._version, y._base is None, y.retains_grad, y.grad

y=a*2; y.retain_grad(); y.retain_grad(); y.sum().backward()
y.grad, y.retains_grad

a.retain_grad()
a.retains_grad

y=a*2
y.grad_fn.metadata['k']=3
y.grad_fn.metadata

v,i=m.sort(1)
v.output_nr, v.grad_fn.name(), i.grad_fn, [(v*1).grad_fn.next_functions[0][1]]

y=a*2; z=y*b
z.grad_fn.next_functions[0][0] is y.grad_fn

isinstance((a*2).grad_fn, graph.Node), issubclass(type((a*2).grad_fn), graph.Node)

e=graph.get_gradient_edge(a*2)
e.node.name(), e.output_nr, type(e).__name__

y=a*2; z=(y*y).sum(); e=graph.get_gradient_edge(y)
G(z, e)

e=graph.get_gradient_edge((a*a).sum())
G(e, a, F.ones(()))

x=F.ones(3); v=x._version; graph.increment_version(x)
v, x._version

x=F.ones(3); w=F.ones(2); graph.increment_version([x,w,w])
x._version, w._version

y=a.exp()
y.grad_fn._saved_result

y=a*b
y.grad_fn._saved_self, y.grad_fn._saved_other, y.grad_fn._saved_self is a

y=a*b
y.grad_fn._raw_saved_self.register_hooks(lambda x: x.detach()*10, lambda x: x)
y.sum().backward()
b.grad, a.grad

a.register_hook(lambda g: g*2); a.register_hook(lambda g: g+1)
(a*3).sum().backward()
a.grad

h=a.register_hook(lambda g: g*2); h.remove()
(a*3).sum().backward()
a.grad

y=a*2
y.grad_fn.register_prehook(lambda gs: (gs[0]*5,))
y.retain_grad()
(y*3).sum().backward()
y.grad, a.grad

y=a*2
y.grad_fn.register_prehook(lambda gs: (gs[0]*5,))
G((y*3).sum(), y)

y=a*2
y.grad_fn.register_prehook(lambda gs: log.append(1))
y.grad_fn.register_hook(lambda i,o: log.append(2))
y.register_hook(lambda g: log.append(3))
G((y*3).sum(), y), log

y=a*b
y.grad_fn.register_hook(lambda i,o: (i[0]*2, None))
y.sum().backward()
a.grad, b.grad

y=a*2
n=y.grad_fn.next_functions[0][0]
n.register_hook(lambda i,o: log.append((len(i),[x.tolist() for x in o])))
n.register_prehook(lambda o: log.append('pre'))
a.register_hook(lambda g: log.append('tensor'))
a.register_post_accumulate_grad_hook(lambda p: log.append(('acc',p.grad.tolist(), p is a)))
y.sum().backward()
log

a.register_post_accumulate_grad_hook(lambda p: setattr(p,'grad',None))
(a*2).sum().backward()
a.grad

a.register_hook(lambda g: log.append(g.tolist()))
G((a*2).sum(), a), log

a.register_post_accumulate_grad_hook(lambda p: log.append(1))
G((a*2).sum(), a), log

y=a*2
y.register_hook(lambda g: log.append(('old',g.tolist())))
y.mul_(3)
y.register_hook(lambda g: log.append(('new',g.tolist())))
y.sum().backward()
log

y=a*2
y.retain_grad()
y.mul_(3)
y.sum().backward()
y.grad, y.retains_grad

y=a*2
y.retain_grad()
z=y*5
y.mul_(3)
(y.sum()+z.sum()).backward()
y.grad

y=a.clone(); v=y[1:]
v.retain_grad(); v.register_hook(lambda g: log.append(('v',g.tolist())))
y.mul_(2)
(v.sum()+y.sum()).backward()
v.grad, log, a.grad

a.register_hook(lambda g: log.append(g.requires_grad))
y=(a*a).sum()
G(y,a,create_graph=True)
y.backward()
log

x=a.clone(); x.register_hook(lambda g: g*2)
g,=G((x**3).sum(), a, create_graph=True)
g, G(g.sum(), a)
""",
    "modes, versions, writes": """
with F.no_grad(): y=a*2
y.requires_grad, F.is_grad_enabled()

with F.no_grad():
    with F.enable_grad(): y=a*2
y.requires_grad

F.set_grad_enabled(False); y=a*2; F.set_grad_enabled(True)
y.requires_grad

with F.set_grad_enabled(False): y=a*2
y.requires_grad, F.is_grad_enabled()

s=F.set_grad_enabled(False)
try: r=F.is_grad_enabled()
finally: F.set_grad_enabled(True)
r

@F.set_grad_enabled(False)
def f(): return F.is_grad_enabled()
f(), F.is_grad_enabled()

@F.no_grad()
def f(): return F.is_grad_enabled()
@F.no_grad
def g(): return F.is_grad_enabled()
f(), g(), F.is_grad_enabled()

@F.no_grad()
def gen():
    yield F.is_grad_enabled()
    yield F.is_grad_enabled()
r=[]
for x in gen(): r+= [x, F.is_grad_enabled()]
r

@F.no_grad()
def gen():
    with F.enable_grad():
        yield F.is_grad_enabled()
    yield F.is_grad_enabled()
r=[]
for x in gen(): r+= [x, F.is_grad_enabled()]
r

@F.no_grad()
def gen():
    r=[]
    try: r.append((yield 1))
    except ValueError: r.append(('caught', F.is_grad_enabled()))
    yield r
    return 5
g=gen(); next(g); r=g.throw(ValueError());
try: next(g)
except StopIteration as s: z=s.value
r,z

with F.no_grad(): x=F.ones(3,requires_grad=True)
x.requires_grad

with F.no_grad(): a.add_(1)
a, a._version, a.is_leaf, a.requires_grad

with F.inference_mode():
    x=F.ones(3)
    r=x.is_inference(), F.is_inference_mode_enabled(), F.is_grad_enabled(), F.is_inference(x)
r, x.is_inference(), (x*1).is_inference(), x[1:].is_inference(), x.clone().is_inference()

with F.inference_mode(): x=F.ones(3)
(a+x).requires_grad

with F.inference_mode(): x=F.ones(3).requires_grad_(); y=x*2
x.requires_grad, y.requires_grad, y.is_inference()

x=F.ones(3)
with F.inference_mode(): x.add_(1); v=x._version
v, x._version, x

y=a*2
with F.inference_mode(): y.add_(1)
y._version, y.requires_grad, y.grad_fn.name()

with F.inference_mode():
    with F.inference_mode(False): x=F.ones(3); r=x.is_inference(), F.is_grad_enabled()
r

@F.inference_mode()
def f(): return F.ones(3)
@F.inference_mode
def g(): return F.ones(3)
@F.inference_mode(False)
def h(): return F.ones(3)
f().is_inference(), g().is_inference(), h().is_inference()

with F.inference_mode(): x=F.ones(3)
y=x.clone(); y.requires_grad_(); (y*y).sum().backward()
y.grad

x=F.ones(3)
with F.inference_mode(): v=x[1:]; r=v.is_inference()
r, v._version

x=F.ones(3)
with F.inference_mode(): v=x[1:]
v.add_(1)
x

with F.inference_mode(): x=a.data; r=x.is_inference()
r

with F.inference_mode(): x=F.ones(3); y=F.ones(3); y.copy_(x)
y.is_inference()

with F.inference_mode(): x=F.ones(3)
y=F.ones(3); y.copy_(x)
y.is_inference(), y

y=a*2; z=y*y; y.data.add_(1)
z.sum().backward()
a.grad

y=a.tanh(); y.data.zero_()
y.sum().backward()
a.grad

y=a+1; y.mul_(2); y.sum().backward()
a.grad

y=a*1; y.exp_(); y.sum().backward()
a.grad

x=a.detach(); x.add_(1)
a, a._version, x._version

y=m*1
!y.tensor_split(2)[1].add_(1)

y=m*1
!y.hsplit(2)[1].add_(1)

y=m.detach();
for r in y: r.add_(1)
y

with F.no_grad(): y=a*1; v=y[1:]
v.add_(1)
y

with F.no_grad(): v=a[1:]; v.add_(1)
a

y=F.ones(3); v=y[1:]; y.mul_(a)
v.requires_grad, (v.sum().backward(), a.grad)[1]

y=F.zeros(3); y[0:2]=a[:2]; y.sum().backward()
y.requires_grad, a.grad

y=F.zeros(3); v=y[1:]; w=v[1:]; y[:]=a*2; (w*3).sum().backward()
w, a.grad

y=a*1; v=y[1:]; w=v[:1]; w.mul_(5); (y.sum()+v.sum()).backward()
y, v, a.grad

y=m*1; v=y.t(); v[0]=a[:2]; (y*y).sum().backward()
y, m.grad, a.grad

y=m*1; v=y.view(-1)[1:3]; v.mul_(10); y.sum().backward()
y, m.grad

x=F.ones(1,3).expand(2,3)
!x[0]=1

x=F.ones(3,dtype=F.uint8)
x.add_(F.ones(3,dtype=F.int64)*300)

x=F.ones(3,dtype=F.int64)
!x.copy_(a)

x=F.ones(3,dtype=F.int64); x.copy_(a)
x, x.requires_grad

x=F.ones(3); x.copy_(a); x.sum().backward()
x, a.grad

x=a*1; x.copy_(b); x.sum().backward()
a.grad, b.grad

x=a*1; x.zero_(); x.sum().backward()
a.grad

x=a*1; x.fill_(b[0]); x.sum().backward()
a.grad, b.grad

x=a*1; x.detach_();
x.requires_grad, x.is_leaf

y=a*1; v=y.detach(); v.add_(1)
y._version, v._version, y

x=F.ones(3); y=x.data; y.add_(1)
x._version, y._version, x

x=F.ones(3); v=x[1:]; v.add_(1)
x._version, v._version

x=F.ones(3); v=x[1:]; x.add_(1)
x._version, v._version

x=F.ones(3); x._version
v0=x._version; x+=1; v1=x._version; x[0]=2; v2=x._version; x.zero_(); x.copy_(x); v3=x._version
v0,v1,v2,v3

y=a*2
y+=1
y.grad_fn.name()

y=(a*2).sum(); y.add_(y); y.backward()
a.grad

y=a*2; y[y>2]=0; y.sum().backward()
y, a.grad

y=a*2; y.masked_fill_(y>3, 7.); y.sum().backward()
y,a.grad

y=a*2; y.index_add_(0, F.tensor([0,0]), b[:2]); (y*y).sum().backward()
y,a.grad,b.grad

F.mul(F.ones(3),2,out=(o:=F.ones(3)))
o, o._version

z=F.zeros(3,requires_grad=True); y=z+a
with F.no_grad(): z.add_(1)
y.sum().backward()
z.grad

y=a*2; v=y[1:]
v._base is y, v[:1]._base is y, y._base, v._is_view(), y._is_view()

with F.no_grad(): y=F.ones(3); v=y[1:]
v._base is y

v=a.detach()
v._base is a, v._is_view()
""",
    "saved values, anomalies, subgradients": """
with graph.saved_tensors_hooks(lambda x: log.append(x is i) or x, lambda x: x):
    i=a*1
    y=i*i
y.sum().backward()
log, a.grad

with graph.saved_tensors_hooks(lambda x: log.append('o') or x, lambda x: x):
    with graph.saved_tensors_hooks(lambda x: log.append('i') or x, lambda x: log.append('iu') or x):
        y=a*b
    z=y*y
z.sum().backward()
log, a.grad

with graph.save_on_cpu(): y=a*b
y.sum().backward()
a.grad

with graph.saved_tensors_hooks(lambda x: log.append(1) or x, lambda x: log.append(2) or x): y=a*b
y.sum().backward(retain_graph=True); y.sum().backward()
log

with graph.saved_tensors_hooks(lambda x: log.append(1) or x, lambda x: log.append(2) or x): y=a*b
y.grad_fn._saved_self
log

with graph.saved_tensors_hooks(lambda x: x.detach().clone(), lambda x: x): y=(a*1); z=y*y; y.add_(1)
z.sum().backward()
a.grad

with graph.saved_tensors_hooks(lambda x: x.detach().clone(), lambda x: x): z=a*a*a
g,=G(z.sum(), a, create_graph=True)
g, G(g.sum(),a)

with graph.saved_tensors_hooks(lambda x: log.append(tuple(x.shape)) or x, lambda x: x):
    y=F.softmax(m,1)
    s=y.sum(1)
    z=m@m
    q=m.amax(1)
log

h=graph.register_multi_grad_hook([a,b], lambda gs: log.append([g if g is None else g.tolist() for g in gs]))
(a*b).sum().backward()
log

h=graph.register_multi_grad_hook([a,b], lambda gs: log.append([g if g is None else g.tolist() for g in gs]))
(a*2).sum().backward()
log

h=graph.register_multi_grad_hook([a,b], lambda g: log.append(g.tolist()), mode='any')
(a*2).sum().backward(); (b*2).sum().backward()
log

h=graph.register_multi_grad_hook([a,b], lambda gs: log.append(1)); h.remove()
(a*2).sum().backward()
log

graph.register_multi_grad_hook([a,b], lambda gs: log.append([g if g is None else g.tolist() for g in gs]))
y=(a*b).sum(); y.backward(retain_graph=True); y.backward()
log

with graph.allow_mutation_on_saved_tensors():
    y=a*1; z=y*y; y.add_(10); z.sum().backward()
a.grad

with graph.allow_mutation_on_saved_tensors():
    y=a.exp(); y.zero_(); y2=y.sum(); y2.backward()
a.grad

with A.set_detect_anomaly(True): y=(a-2).sqrt()
!y.sum().backward()

A.set_detect_anomaly(True)
r=F.is_anomaly_enabled(), F.is_anomaly_check_nan_enabled()
A.set_detect_anomaly(False)
r, F.is_anomaly_enabled()

x=t([0.,-1,1],requires_grad=True); F.relu(x).sum().backward()
x.grad

x=t([0.,-1,1],requires_grad=True); x.abs().sum().backward()
x.grad

x=t([0.,-1,1],requires_grad=True); x.clamp(-1,1).sum().backward()
x.grad

x=t([0.,-1,1],requires_grad=True); F.nn.functional.hardtanh(x).sum().backward()
x.grad

x=t([0.,-1,1],requires_grad=True); F.nn.functional.leaky_relu(x,0.25).sum().backward()
x.grad

x=t([0.,-1,1],requires_grad=True); F.nn.functional.gelu(x).sum().backward()
x.grad

x=t([0.,1],requires_grad=True); x.sqrt().sum().backward()
x.grad

x=t([0.,1],requires_grad=True); (x**0.5).sum().backward()
x.grad

x=t([0.,1],requires_grad=True); (x**0).sum().backward()
x.grad

x=t([0.,0],requires_grad=True); x.norm().backward()
x.grad

x=t([0.,1],requires_grad=True); w=t([0.,0.],requires_grad=True); F.maximum(x,w).sum().backward()
x.grad,w.grad

x=t([0.,1],requires_grad=True); w=t([0.,0.],requires_grad=True); F.minimum(x,w).sum().backward()
x.grad,w.grad

x=t([1.,1,0],requires_grad=True); x.max().backward()
x.grad

x=t([1.,1,0,0],requires_grad=True); x.min().backward()
x.grad

x=t([[1.,1,0],[2,2,2]],requires_grad=True); x.amax(1).sum().backward()
x.grad

x=t([[1.,1,0],[2,2,2]],requires_grad=True); x.amin(1).sum().backward()
x.grad

x=t([[1.,1,0],[2,2,2]],requires_grad=True); x.max(1).values.sum().backward()
x.grad

x=t([[1.,1,0],[2,2,2]],requires_grad=True); x.min(1)[0].sum().backward()
x.grad

x=t([3.,1,2,4],requires_grad=True); x.median().backward()
x.grad

x=t([3.,0,2,4],requires_grad=True); x.prod().backward()
x.grad

x=t([3.,0,2,0],requires_grad=True); x.prod().backward()
x.grad

x=t([[3.,0,2],[1,2,3]],requires_grad=True); x.prod(1).sum().backward()
x.grad

x=t([3.,3,3],requires_grad=True); x.std().backward()
x.grad

x=t([3.,3,3],requires_grad=True); x.var().backward()
x.grad

x=t([3.,0,2,0,5],requires_grad=True); x.cumprod(0).sum().backward()
x.grad

x=t([3.,0,2],requires_grad=True); x.sign().sum().backward()
x.grad

x=t([2.5,0,2],requires_grad=True); x.round().sum().backward();
x.grad

x=t([0.,1],requires_grad=True); F.nn.functional.softplus(x*30).sum().backward()
x.grad

x=t([2.,3],requires_grad=True); w=t([0.,1],requires_grad=True); (x**w).sum().backward()
x.grad,w.grad

x=t([0.,0.],requires_grad=True); w=t([0.,1],requires_grad=True); (x**w).sum().backward()
x.grad,w.grad

x=t([0.,0.],requires_grad=True); w=t([0.,1],requires_grad=True); F.atan2(x,w).sum().backward()
x.grad,w.grad

x=t([5.,-5.],requires_grad=True); F.fmod(x,3).sum().backward()
x.grad

x=t([5.,-5.],requires_grad=True); F.remainder(x,3).sum().backward()
x.grad

x=t([-1.,0,3,6,7],requires_grad=True); F.nn.functional.relu6(x).sum().backward()
x.grad

x=t([-3.,0,3],requires_grad=True); F.nn.functional.hardsigmoid(x).sum().backward()
x.grad

x=t([-3.,0,3],requires_grad=True); F.nn.functional.hardswish(x).sum().backward()
x.grad

x=t([-.5,0,.5],requires_grad=True); F.nn.functional.hardshrink(x).sum().backward()
x.grad

x=t([-.5,0,.5],requires_grad=True); F.nn.functional.softshrink(x).sum().backward()
x.grad

x=t([-.5,0,.5],requires_grad=True); F.nn.functional.threshold(x,0,1).sum().backward()
x.grad

x=t([0.,1,2],requires_grad=True); F.nn.functional.elu(x).sum().backward()
x.grad

x=t([0.,1,2],requires_grad=True); F.nn.functional.l1_loss(x,t([0.,0,3])).backward()
x.grad

x=t([0.,1,2],requires_grad=True); F.nn.functional.smooth_l1_loss(x,t([0.,0,3])).backward()
x.grad

x=t([0.,1.],requires_grad=True); F.clamp(x,t([0.,1]),t([0.,2])).sum().backward()
x.grad
""",
    "everything else": """
import copy
c=copy.deepcopy(a)
c, c.requires_grad, c.is_leaf, c.grad, type(c).__name__

import copy
(a*2).sum().backward()
c=copy.deepcopy(a)
c.grad, c.grad is a.grad

import copy
x=F.ones(3); v=x[1:]
x2,v2=copy.deepcopy([x,v]); x2.add_(1)
v2

import pickle
c=pickle.loads(pickle.dumps(a))
c, c.requires_grad, c.is_leaf

import copy
p=F.nn.Parameter(F.ones(2)); p.foo=3
q=copy.deepcopy(p)
type(q).__name__, q.requires_grad, q

import copy
c=copy.copy(a)
c is a, c.requires_grad

x=F.tensor([1+2j,3-1j],requires_grad=True)
(x*x.conj()).sum().real.backward()
x.grad

x=F.tensor([1+2j,3-1j],requires_grad=True)
G((x*x).sum(), x, F.tensor(1j, dtype=x.dtype))

x=F.tensor([1.,2.],dtype=F.float64,requires_grad=True); (x*a[:2]).sum().backward()
x.grad.dtype is F.float64, a.grad.dtype is F.float32

x=F.ones(2,1,requires_grad=True); w=F.ones(3,requires_grad=True); (x*w+x).sum().backward()
x.grad, w.grad

G((a*2).sum(), a, F.ones((),dtype=F.float64))[0].dtype is F.float32

with F.no_grad(): (lambda y: y.backward())((lambda: F.enable_grad()(lambda: (a*2).sum())())())
a.grad

y=(a*2).sum()
with F.no_grad(): y.backward()
a.grad

y=(a*2).sum()
with F.inference_mode(): y.backward()
a.grad, a.grad.is_inference()

def h(g):
    handle.remove(); return g*2
handle=a.register_hook(h)
(a*1).sum().backward(); (a*1).sum().backward()
a.grad

def h(g): log.append(F.is_grad_enabled())
a.register_hook(h)
(a*1).sum().backward(); y=(a*1).sum(); y.backward(create_graph=True)
log

def h(g): z=(b*2).sum();
y=a*1
def h(g):
    with F.enable_grad(): z=(b*2).sum()
    z.backward()
y.register_hook(h); y.sum().backward()
b.grad

g,=G((a*a).sum(), a, create_graph=True)
a.register_hook(lambda g: g*10)
g.sum().backward()
a.grad

y=a*2; y.register_hook(lambda g: g*3); y.retain_grad(); z=(y*y).sum(); z.backward(inputs=[y])
y.grad

y=a*2; z=(y*y).sum(); z.backward(inputs=[y],retain_graph=True); z.backward(inputs=[y])
y.grad

y=a*2; y.retain_grad(); z=(y*y).sum(); z.backward(retain_graph=True); z.backward()
y.grad

y=a*2; y.retain_grad(); z=(y*y).sum(); z.backward(create_graph=True)
y.grad.requires_grad

y=a*2; y.retain_grad(); G((y*y).sum(), a)
y.grad

y=a*2; w=b*2; y.retain_grad(); G((y*w).sum(), b)
y.grad

v,i=F.max(m,1)
i.requires_grad, v.grad_fn.name(), v.output_nr

v,i=F.max(m,1)
v.register_hook(lambda g: g*2); v.sum().backward()
m.grad

u=m.unbind(0); u[0].retain_grad(); (u[0]*3+u[1]).sum().backward()
u[0].grad, m.grad

a.register_hook(lambda g: log.append(1))
a.register_hook(lambda g: log.append(2))
y=a*2
y.register_hook(lambda g: log.append(0))
(y+a).sum().backward()
log

y=a*2
y.grad_fn.register_hook(lambda i,o: log.append(([x is not None for x in i], len(o))))
y.sum().backward()
log

y=a*F.ones(3)
y.grad_fn.register_hook(lambda i,o: log.append(([x is not None for x in i], len(o))))
y.sum().backward()
log

y=(a*F.ones(2,3)).sum()
n=y.grad_fn.next_functions[0][0]
n.register_hook(lambda i,o: log.append([x is not None and tuple(x.shape) for x in i]))
y.backward()
log

y=a*2; y.grad_fn.register_prehook(lambda o: (None,)); y.sum().backward()
a.grad

y=a*2; y.retain_grad(); y.detach_()
y.requires_grad, y.is_leaf

(a*2).sum().backward(); a.requires_grad_(False)
a.grad

(a*2).sum().backward(); a.requires_grad_(False); a.requires_grad_(); (a*2).sum().backward()
a.grad

(a*2).sum().backward(); a.detach_()
a.grad, a.requires_grad

a.grad=F.ones(3); g=a.grad; (a*2).sum().backward()
g, a.grad is g

a.grad=F.ones(3,requires_grad=True); g=a.grad; (a*2).sum().backward()
g, a.grad, a.grad is g

(a*2).sum().backward(); v=a.grad._version; (a*2).sum().backward()
v, a.grad._version

w=F.ones(3); a.backward(w)
a.grad, a.grad is w

w=F.ones(3); (a+b).backward(w); a.grad.add_(1)
w, b.grad

x=F.ones(3).expand(2,3).clone().requires_grad_(); x.sum().backward()
x.grad

y=a*2; del_=y.grad_fn; y=None
del_.name()

y=a*1
v=y[1:]
v.mul_(3)
v.register_hook(lambda g: log.append(('v',g.tolist())))
(y.sum()+v.sum()).backward()
log, a.grad

y=a*1; y[0].mul_(2); y[1:].mul_(y[:2].clone()); (y*y).sum().backward()
y, a.grad

y=m*1; y.t()[0].copy_(a[:2]); y.view(-1)[3].zero_(); (y*y).sum().backward()
y, m.grad, a.grad

y=m*1; d=y.diagonal(); d.mul_(5); y.sum().backward()
y, m.grad

y=F.zeros(2,2); y.diagonal().copy_(a[:2]); (y*y).sum().backward()
y, a.grad

y=m*1; y.narrow(0,0,1).squeeze(0).add_(a[:2]); y.sum().backward()
y,m.grad,a.grad

x=F.ones(3); v=x[1:]
v.requires_grad_(); (v*2).sum().backward()
v.grad, x.requires_grad

x=F.ones(3); v=x[1:]
v.requires_grad_();
x.mul_(2)
(v*2).sum().backward()
v.grad

y=a*1; z=y.detach(); z.requires_grad_(); (z*2).sum().backward()
z.grad, a.grad

y=a*1; v=y[1:]; w=y[1:]; v.mul_(2); w.mul_(3); (w.sum()+v.sum()).backward()
y, a.grad

y=(a*1).view(3,1); y.mul_(2); y.sum().backward()
a.grad

y=a*1; y.unsqueeze_(0); y.mul_(2); y.sum().backward()
tuple(y.shape), a.grad

y=m*1; y.t_(); y[0].mul_(2); y.sum().backward()
y, m.grad

y=m*1; y.transpose_(0,1)[0].mul_(2); y.sum().backward()
m.grad

y=a*1; y.clamp_(max=2.); y.sum().backward()
a.grad

y=a*1; y.sub_(1).relu_(); y.sum().backward()
a.grad

y=a*1; F.nn.functional.relu(y-1, inplace=True).sum().backward()
a.grad

y=a*1; y.sigmoid_(); (y*y).sum().backward()
a.grad

y=a*1; y.addcmul_(b,b,value=2); y.sum().backward()
a.grad,b.grad

y=a*1; y.lerp_(b,0.25); y.sum().backward()
a.grad,b.grad

y=a*1; y.masked_scatter_(y>1, b); y.sum().backward()
y, a.grad, b.grad

y=a*1; y.index_copy_(0,t([0]),b[:1]); y.sum().backward()
y,a.grad,b.grad

y=a*1; y.scatter_(0,t([0,2]),b[:2]); y.sum().backward()
y,a.grad,b.grad

y=a*1; y.index_fill_(0,t([0,2]),5.); y.sum().backward()
y,a.grad

y=a*1; y[t([0,2])]=b[:2]; (y*y).sum().backward()
y,a.grad,b.grad

y=a*1; y[y>1]+=5; y.sum().backward()
y,a.grad

y=a*1; y+=b; y*=2; y/=4; y-=a; y.sum().backward()
y,a.grad,b.grad

y=a*1; y**=2; y.sum().backward()
y,a.grad

x=F.ones(3,dtype=F.int64); x//=2; x+=5; x%=3; x|=4; x&=6; x^=1
x

x=F.ones(3); o=id(x); x+=1
id(x)==o

x=F.ones(3); f=lambda z: z.add_(1); f(x); f(x)
x._version

with F.no_grad(): a.mul_(2); a[0]=5; a.data.zero_()
a, a._version, a.requires_grad

y=a.exp(); a.data.mul_(0); y.sum().backward()
a.grad

a.long().requires_grad, (a>1).requires_grad, a.argmax().requires_grad

a.int().float().requires_grad

x=F.ones(3,dtype=F.int64); x[0]=a[0];
x, x.requires_grad

y=a*1; y.retain_grad(); y.requires_grad_(True)
y.retains_grad

isinstance(a.grad_fn, type(None)), (a*1).grad_fn.__class__.__name__, type((a*1).grad_fn.next_functions[0][0]).__name__

sorted(n for n in dir((a*b).grad_fn) if n.startswith('_saved_') and n in ('_saved_self','_saved_other'))

y=a*b
y.grad_fn._saved_self.requires_grad, y.grad_fn._saved_other is b

F.softmax(m,1).grad_fn._saved_dim

x=F.tensor([2.],requires_grad=True); y=x**2;
g=G(y,x,create_graph=True)[0]; h=G(g,x,create_graph=True)[0]
g, h, h.requires_grad

A.backward([a.sum(), (a*b).sum()])
a.grad,b.grad

A.backward([a, b], [F.ones(3), F.ones(3)*2])
a.grad,b.grad

A.backward((a*b).sum(), inputs=(a,))
a.grad, b.grad

(a*b).sum().backward(inputs=a)
a.grad,b.grad

G(a.sum(), a), G(a, a, F.ones(3))

G([a.sum(), a.sum()], [a])

G(a.sum()+b.sum()*0, [a, b, a])

G((a*b).sum(), [b], create_graph=True)[0].grad_fn is None

y=a*a
G(y, a, F.ones(4,3), is_grads_batched=True)

x=a.clone().detach(); y=x.requires_grad_(); z=y.sum(); z.backward()
x.grad
""",
    "checkpoint": """
y=C(lambda t: (t*t).sin().exp(), a, use_reentrant=False); y.sum().backward()
a.grad

y=C(lambda t: (t*t).sin().exp(), a, use_reentrant=True); y.sum().backward()
a.grad, y.requires_grad

y=C(lambda t: log.append(1) or (t*t).sin()+1, a, use_reentrant=False)
z=y.sum(); z.backward(retain_graph=True); z.backward()
log, a.grad

y=C(lambda t: C(lambda u: (u*u).exp(), t*b, use_reentrant=False)*t, a, use_reentrant=False)
y.sum().backward()
a.grad, b.grad

y=C(lambda t: (log.append('in'), t*t, log.append('out'))[1]+1, a, use_reentrant=False)
y.sum().backward()
log

y=C(lambda t: t*t*t, a, use_reentrant=False)
g,=G(y.sum(), a, create_graph=True)
g, G(g.sum(), a)

with graph.saved_tensors_hooks(lambda x: log.append(tuple(x.shape)) or x, lambda x: x):
    y=C(lambda t: t.exp()*t, a*1, use_reentrant=False)
y.sum().backward()
log, a.grad
""",
}

ERRORS = {
    "checkpoint": """
y=C(lambda t: t*t, a, use_reentrant=True)
!G(y.sum(), a)
raises is incompatible with .grad() or passing an `inputs` parameter to .backward()

o=[lambda t: (t*t).sin(), lambda t: (t[:2]*t[:2]).sin()]
y=C(lambda t: o.pop(0)(t), a, use_reentrant=False)
!y.sum().backward()
raises Recomputed values for the following tensors have different metadata than during the forward pass

o=[lambda t: (t*t).sin(), lambda t: t+1]
y=C(lambda t: o.pop(0)(t), a, use_reentrant=False)
!y.sum().backward()
raises A different number of tensors was saved during the original forward and recomputation

!C(lambda t: t, a, use_reentrant=True, k=2)
raises Unexpected keyword arguments: k

!C(lambda t: t, a, use_reentrant=False, determinism_check='x')
raises determinism_check should be one of
""",
    "API, hooks, nodes": """
!(a*a).backward()
raises grad can be implicitly created only for scalar outputs

!F.ones(3).sum().backward()
raises element 0 of tensors does not require grad and does not have a grad_fn

y=(a*a).sum(); y.backward()
!y.backward()
raises Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().

!(a*a).backward(F.ones(2))
raises Mismatch in shape: grad_output[0] has a shape of

!G((a*a).sum(), b)
raises appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior

!G((a*a).sum(), (a,b), materialize_grads=True, allow_unused=False)
raises Expected allow_unused to be True or not passed when materialize_grads=True, but got:

!G((a*a).sum(), F.ones(3))
raises One of the differentiated Tensors does not require grad

!(a*a).sum().backward(inputs=[])
raises `inputs` argument to `backward()` cannot be empty

y=a*b
!G([y, (y*y).sum()], [a,b], [F.ones(3)])
raises got 2 tensors and 1 gradients

!F.autograd.backward(a.sum(), grad_tensors=F.ones(()), grad_variables=F.ones(()))
raises `grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only

!F.autograd.backward(a.sum(), 'x')
raises gradients can be either Tensors or None, but got str

!G(a.sum(), 'x')
raises all inputs have to be Tensors or GradientEdges, but got str

!G(a.sum(), [])
raises `inputs` argument to `grad()` cannot be empty

g,=G((a*a*a).sum(), a, create_graph=True, retain_graph=False)
G(g.sum(), a)
raises Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().

y=(a*a*a).sum()
g,=G(y, a, create_graph=True, retain_graph=False)
!y.backward()
raises Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().

!a.grad = 3
raises assigned grad expected to be a Tensor or None but got grad of type int

!F.tensor([1,2],requires_grad=True)
raises Only Tensors of floating point and complex dtype can require gradients

!F.tensor([1,2]).requires_grad_()
raises only Tensors of floating point dtype can require gradients

!F.tensor([1,2]).requires_grad=True
raises only Tensors of floating point

y=a*1
!y.requires_grad=False
raises you can only change requires_grad flags of leaf variables. If you want to use a computed variable

y=a*1
!y.requires_grad_(False)
raises you can only change requires_grad flags of leaf variables. If you want to use a computed variable

!F.ones(3).retain_grad()
raises can't retain_grad on Tensor that has requires_grad=False

!graph.get_gradient_edge(F.ones(3))
raises It is not possible to get the gradient edge for a Tensor that does not require gradients

y=a*b; y.sum().backward()
!y.grad_fn._saved_self
raises Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().

y=a*2
!y.grad_fn._saved_nothing
raises 'MulBackward0' object has no attribute '_saved_nothing'

!F.ones(2).register_hook(lambda g: g)
raises cannot register a hook on a tensor that doesn't require gradient

a.register_hook(lambda g: g[:2])
!(a*3).sum().backward()
raises hook '<lambda>' has changed the size of value

a.register_hook(lambda g: 3)
!(a*3).sum().backward()
raises expected Variable, but hook returned 'int'

a.register_hook(lambda g: g.double())
!(a*3).sum().backward()
raises hook '<lambda>' has changed the type of value (was

y=a*b
y.grad_fn.register_hook(lambda i,o: (i[0]*2,))
!y.sum().backward()
raises hook '<lambda>' has returned an incorrect number of values (got 1, but expected 2)

y=a*b
y.grad_fn.register_prehook(lambda o: (o[0],o[0]))
!y.sum().backward()
raises hook '<lambda>' has returned an incorrect number of values (got 2, but expected 1)

!(a*2).register_post_accumulate_grad_hook(lambda p: 0)
raises post accumulate grad hooks cannot be registered on non-leaf tensors

!F.ones(2).register_post_accumulate_grad_hook(lambda p: 0)
raises cannot register a hook on a tensor that doesn't require gradient
""",
    "modes, versions, writes": """
with F.inference_mode(): x=F.ones(3)
!x._version
raises Inference tensors do not track version counter

with F.inference_mode(): x=F.ones(3)
!x.add_(1)
raises Inplace update to inference tensor outside InferenceMode is not allowed

with F.inference_mode(): x=F.ones(3)
!x[0]=1
raises Inplace update to inference tensor outside InferenceMode is not allowed

with F.inference_mode(): x=F.ones(3)
!x[1:].add_(1)
raises Inplace update to inference tensor outside InferenceMode is not allowed

with F.inference_mode(): x=F.ones(3)
!a*x
raises you can make a clone to get a normal tensor and use it in autograd

with F.inference_mode(): x=F.ones(3)
!x.requires_grad_()
raises Setting requires_grad=True on inference tensor outside InferenceMode is not allowed

y=a*a
with F.inference_mode(): x=a.detach(); x.add_(1)
!y.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a.exp(); y.add_(1)
!y.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a*2; z=y*y; y.add_(1)
!z.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a*2; z=y*y; y[1:].add_(1)
!z.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a*2; v=y[1:]; z=v*v; y.add_(1)
!z.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a*2; z=y*y; y.detach().add_(1)
!z.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a.sigmoid(); y.detach().zero_()
!y.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a.exp(); y[0]=1
!y.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a.exp(); v=y[1:]; v.mul_(2)
!y.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a.exp(); v=y[1:]; v.mul_(2)
!v.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a*1; y.mul_(y); y.sum().backward()
a.grad
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=a*1; y.exp_(); y.mul_(2)
!y.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

a.add_(1)
raises a leaf Variable that requires grad is being used in an in-place operation

!a.add_(1)
raises a leaf Variable that requires grad is being used in an in-place operation

!a[0]=1
raises a view of a leaf Variable that requires grad is being used in an in-place operation

!a[1:].add_(1)
raises a view of a leaf Variable that requires grad is being used in an in-place operation

!a.view(3).add_(1)
raises a view of a leaf Variable that requires grad is being used in an in-place operation

!a.detach().requires_grad_().add_(1)
raises a leaf Variable that requires grad is being used in an in-place operation

!a.unbind(0)[0].add_(1)
raises Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function

y=a*1
!y.unbind(0)[0].add_(1)
raises Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function

y=m*1
!y.split(1)[1].add_(1)
raises Output 1 of Split is a view and is being modified inplace. This view is the output of a function

y=m*1
!y.chunk(2)[1].add_(1)
raises Output 1 of Split is a view and is being modified inplace. This view is the output of a function

y=m*1;
for r in y: r.add_(1)
y
raises Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function

y=m.detach().clone()
for r in y.unbind(): r.add_(a[:2])
y.requires_grad
raises This view is the output of a function that returns multiple views. Such functions do not allow the

y=a*1
with F.no_grad(): v=y[1:]
!v.add_(1)
raises A view was created in no_grad mode and is being modified inplace with grad mode enabled

with F.no_grad(): v=a[1:]
!v.add_(1)
raises A view was created in no_grad mode and is being modified inplace with grad mode enabled

x=F.ones(3).expand(2,3)
!x.add_(1)
raises unsupported operation: more than one element of the written-to tensor refers to a single memory

x=F.ones(3).expand(2,3)
!x.copy_(F.ones(2,3))
raises unsupported operation: more than one element of the written-to tensor refers to a single memory

x=F.ones(3)
!x.add_(F.ones(2,3))
raises output with shape [3] doesn't match the broadcast shape [2, 3]

x=F.ones(3,dtype=F.int64)
!x.add_(1.5)
raises result type Float can't be cast to the desired output type Long

x=F.ones(3,dtype=F.bool)
!x.add_(1)
raises result type Long can't be cast to the desired output type Bool

x=F.ones(3)
!x.add_(1j)
raises result type ComplexFloat can't be cast to the desired output type Float

x=F.ones(3,dtype=F.int64)
!x.mul_(a)
raises result type Float can't be cast to the desired output type Long

y=a*1; v=y[1:]
!v.detach_()
raises Can't detach views in-place. Use detach() instead

y=a*2; F.add(y, 1, out=y)
!0
raises add(): functions with out=... arguments don't support automatic differentiation, but one of the

!F.add(a,1,out=F.ones(3))
raises add(): functions with out=... arguments don't support automatic differentiation, but one of the

z=F.zeros(3); y=z*a; z.add_(1)
!y.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:

z=F.zeros(3,requires_grad=True); y=z*a
with F.no_grad(): z.add_(1)
!y.sum().backward()
raises one of the variables needed for gradient computation has been modified by an inplace operation:
""",
    "saved values, anomalies, subgradients": """
with graph.saved_tensors_hooks(lambda x: 5, lambda x: x):
    y=a*b
!y.sum().backward()
raises Output of saved tensor unpack_hook expected to be a Tensor but got result of type int

with graph.saved_tensors_hooks(lambda x: x.add_(1), lambda x: x):
    y=(a*1).exp()
!0
raises A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can

with graph.saved_tensors_hooks(lambda x: x.mul_(2), lambda x: x):
    i=a*1
    y=i*i
!0
raises A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can

with graph.disable_saved_tensors_hooks('no hooks here'):
    with graph.saved_tensors_hooks(lambda x: x, lambda x: x): y=a*b
!0
raises no hooks here

with graph.saved_tensors_hooks(lambda x: x, lambda x: x):
    with graph.disable_saved_tensors_hooks('no hooks here'): pass
!0
raises no hooks here

!graph.register_multi_grad_hook([a,b], lambda gs: 0, mode='x')
raises Expects mode to be one of ('all', 'any') but got x

with A.detect_anomaly():
    y=(a-2).sqrt(); y.sum().backward()
!0
raises Function 'SqrtBackward0' returned nan values in its 0th output

y=(a-2).sqrt()
with A.set_detect_anomaly(True): y.sum().backward()
!0
raises Function 'SqrtBackward0' returned nan values in its 0th output

with A.detect_anomaly():
    y=(a*0)/(a-1); y.sum().backward()
!0
raises Function 'DivBackward0' returned nan values in its 1th output
""",
    "everything else": """
import copy
!copy.deepcopy(a*2)
raises Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the

x=F.tensor([1+2j,3-1j],requires_grad=True)
!(x*x).sum().backward()
raises grad can be implicitly created only for real scalar outputs but got

x=F.tensor([1+2j,3-1j],requires_grad=True)
!G((x*x).sum(), x, F.tensor(1.))
raises For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in

def h(g): raise ValueError('in hook')
a.register_hook(h)
!(a*2).sum().backward()
raises in hook

y=a*2
!y.grad_fn.register_prehook(lambda o: 5) and y.sum().backward()
raises returned 'int'

a.register_post_accumulate_grad_hook(lambda p: 5)
!(a*2).sum().backward()
raises returned 'int'

a.requires_grad_(False)
a.register_hook
!a.register_hook(lambda g: 0)
raises cannot register a hook on a tensor that doesn't require gradient

x=F.ones(3); v=x[1:]; x.requires_grad_()
!v.add_(1)
raises a view of a leaf Variable that requires grad is being used in an in-place operation

x=F.ones(3,dtype=F.int64)
!x/=2
raises result type Float can't be cast to the desired output type Long

!a+=1
raises a leaf Variable that requires grad is being used in an in-place operation

y=a.exp(); y.add_(1)
!y.grad_fn.next_functions[0][0]._saved_result
raises one of the variables needed for gradient computation has been modified by an inplace operation:

y=(a*b).sum(); y.backward()
!y.grad_fn.next_functions[0][0]._saved_other
raises Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().

!G(F.ones(3).sum(), a)
raises element 0 of tensors does not require grad and does not have a grad_fn

!G(a.sum(), a, F.ones(2))
raises Mismatch in shape: grad_output[0] has a shape of

y=a*a
!G(y, a, F.ones(3), is_grads_batched=True)
raises If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch
""",
}
