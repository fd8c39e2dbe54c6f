import sys,pickle
from collections import Counter,defaultdict
from monai_spatialqa.items.draft import *
from monai_spatialqa.items import subtasks
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.items.assemble import *
from monai_spatialqa.records.item import ItemCase
from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.items.recompute import recompute
from monai_spatialqa.items.linter import *
import glob
views=[]
ms=[pickle.loads(open("/tmp/w/i-lint/m.pkl","rb").read())]
if len(sys.argv)>1: ms+=pickle.loads(open(sys.argv[1],"rb").read())
rules=Rules();ref=Refusals(); c=defaultdict(Counter); pairs=[]
for m in ms:
  v=CaseView(m,load_label_map("totalsegmentator_v2")); ctx=ItemContext(ItemCase(case_id=m.case_id),0)
  for s in SUBTASKS.values():
    n=0
    for d in s.make(v,rules,random_of(0,s.name)):
        r=assemble(d,ctx,rules,ref)
        if r:
            n+=1
            if n>40: break
            pairs.append(r)
            x=recompute(*r,v); c[s.name][x.verdict.follows]+=1
            if not x.holds and c[s.name][x.verdict.follows]<3: print(x, r[0].question, r[0].options, r[1].answer_text, [(e.tool,e.arguments,e.value) for e in r[1].evidence])
            if r[0].format=="mca": wrong=[l for l in "ABCDEFGH"[:len(r[0].options)] if l!=r[1].answer]
            elif r[0].format=="yesno": wrong=["no" if r[1].answer=="yes" else "yes"]
            else: wrong=[]
            for l in wrong:
                y=recompute(r[0],r[1].model_copy(update=dict(answer=l,answer_text=r[0].options["ABCDEFGH".index(l)] if len(l)==1 else l)),v); c[s.name]['wrong',y.verdict.follows]+=1
                if y.holds and c[s.name]['wrong',True]<3: print("WRONG HOLDS", l,r[0].question, r[0].options, r[1].answer_text, [(e.tool,e.arguments,e.value) for e in r[1].evidence])
for k,x in c.items(): print(k,dict(x))
rep=lint_records([a for a,_ in pairs],[b for _,b in pairs],ms)
print(rep.table())
for k in rep.per_rule():
    for f in [f for f in rep.findings if f.rule==k][:4]: print(f.message[:300])
